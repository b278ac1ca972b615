// A fifth-order reconstruction; each cell chooses a stencil by its smoothness.
#include <algorithm>
#include <cstdio>
#include <vector>

__global__ void weno_stencils(const float *u, float *face, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x + 2;
    if (i >= n - 2) return;
    const float c[3][3] = {{1.f / 3, -7.f / 6, 11.f / 6}, {-1.f / 6, 5.f / 6, 1.f / 3}, {1.f / 3, 5.f / 6, -1.f / 6}};
    float w[5], smooth[3];
    for (int s = 0; s < 5; ++s) w[s] = u[i + s - 2];
    int best = 0;
    for (int s = 0; s < 3; ++s) {
        float a = w[s] - 2 * w[s + 1] + w[s + 2], b = w[s] - w[s + 2];
        smooth[s] = 13.f / 12 * a * a + .25f * b * b;
        if (smooth[s] < smooth[best]) best = s;
    }
    face[i] = c[best][0] * w[best] + c[best][1] * w[best + 1] + c[best][2] * w[best + 2];
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
    const int n = 16384 * 256;
    float *s = uniform<float>(n, -1, 1);
    float *out = zeros<float>(n);
    return report([&] { weno_stencils<<<16384, 256>>>(s, out, n); }, out, n);
}
