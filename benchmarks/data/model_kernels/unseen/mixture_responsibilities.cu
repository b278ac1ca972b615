// Log-densities of twelve components, normalised by their largest.
#include <algorithm>
#include <cstdio>
#include <vector>

__global__ void mixture_responsibilities(const float *x, const float *mean, const float *scale, float *out, int n, int parts) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    float log_p[12], largest = -1e30f;
    float at = x[t];
    for (int k = 0; k < parts; ++k) {
        float z = (at - mean[k]) * scale[k];
        log_p[k] = -.5f * z * z + __logf(scale[k]);
        largest = fmaxf(largest, log_p[k]);
    }
    float sum = 0.f;
    for (int k = 0; k < parts; ++k) sum += log_p[k] = __expf(log_p[k] - largest);
    for (int k = 0; k < parts; ++k) out[k * n + t] = log_p[k] / sum;
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
    const int n = 4096 * 128;
    float *x = uniform<float>(n, -3, 3);
    float *m = uniform<float>(12, -3, 3);
    float *s = uniform<float>(12, .5f, 3);
    float *out = zeros<float>(12 * n);
    return report([&] { mixture_responsibilities<<<4096, 128>>>(x, m, s, out, n, 12); }, out, 12 * n);
}
