// Real harmonics up to a run-time degree, with legendre values in a triangle.
#include <algorithm>
#include <cstdio>
#include <vector>

__global__ void spherical_harmonics(const float *theta, const float *phi, float *out, int n, int degree) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    float p[45];
    float x = cosf(theta[t]), s = sinf(theta[t]);
    p[0] = .28209479f;
    for (int l = 1; l <= degree; ++l) {
        int row = l * (l + 1) / 2, above = l * (l - 1) / 2;
        for (int m = 0; m < l - 1; ++m) p[row + m] = 1.9f * x * p[above + m] - .9f * p[above - l + 1 + m];
        p[row + l - 1] = sqrtf(2.f * l + 1) * x * p[above + l - 1];
        p[row + l] = -sqrtf(1.f + .5f / l) * s * p[above + l - 1];
    }
    float sum = 0.f;
    for (int l = 0; l <= degree; ++l)
        for (int m = 0; m <= l; ++m) sum += p[l * (l + 1) / 2 + m] * __cosf(m * phi[t]);
    out[t] = sum;
}

// Inputs, the hash of the result and the time: alike in every program of this folder.
static unsigned seed = 2463534242u;

static double random_unit() {
    seed = seed * 1664525u + 1013904223u;
    return (seed >> 8) / 16777216.0;
}

template <class T> static T *on_device(const std::vector<T> &host) {
    T *device;
    cudaMalloc(&device, host.size() * sizeof(T));
    cudaMemcpy(device, host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice);
    return device;
}

template <class T> static T *uniform(size_t n, T low, T high) {
    std::vector<T> host(n);
    for (T &value : host) value = T(low + (high - low) * random_unit());
    return on_device(host);
}

template <class T> static T *zeros(size_t n) { return on_device(std::vector<T>(n)); }

template <class T, class Launch> static int report(Launch launch, const T *result, size_t n) {
    std::vector<T> host(n);
    launch();
    cudaMemcpy(host.data(), result, n * sizeof(T), cudaMemcpyDeviceToHost);
    unsigned long long hash = 1469598103934665603ull;
    for (const unsigned char *at = (const unsigned char *)host.data(), *past = at + n * sizeof(T); at < past; ++at)
        hash = (hash ^ *at) * 1099511628211ull;
    cudaEvent_t begin, end;
    cudaEventCreate(&begin);
    cudaEventCreate(&end);
    auto time = [&](int often) {
        cudaEventRecord(begin);
        for (int i = 0; i < often; ++i) launch();
        cudaEventRecord(end);
        cudaEventSynchronize(end);
        float ms = 0;
        cudaEventElapsedTime(&ms, begin, end);
        return ms / often;
    };
    time(1);
    const int often = 1 + int(std::min(200.f, 2 / time(1)));
    float ms[5];
    for (float &one : ms) one = time(often);
    std::sort(ms, ms + 5);
    seed = 2463534242u;
    printf("%016llx %.6f %s\n", hash, ms[2], cudaGetErrorString(cudaGetLastError()));
    return 0;
}

int main() {
    const int n = 1024 * 128;
    float *a = uniform<float>(n, 0, 3);
    float *b = uniform<float>(n, 0, 6);
    float *out = zeros<float>(n);
    return report([&] { spherical_harmonics<<<1024, 128>>>(a, b, out, n, 8); }, out, n);
}
