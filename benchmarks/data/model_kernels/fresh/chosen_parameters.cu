// Each thread takes one of two sets of parameters that come by value.
// In the manner of sigurdstorve/OpenBCSim, src/core/algorithm/cuda_kernels_spline1.cuh.
#include <algorithm>
#include <cstdio>
#include <vector>

struct Beams {
    float narrow[12];
    float wide[12];
    int used;
};

__global__ void chosen_parameters(Beams beams, const float *depth, const unsigned char *kind, float *out, int count, int rows) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= count) return;
    const float *weight = kind[t] & 1 ? beams.wide : beams.narrow;
    float sum = 0.f;
    for (int r = 0; r < rows; ++r) {
        float at = depth[(size_t)r * count + t] * (beams.used - 1);
        int low = (int)at;
        sum += weight[low] + (at - low) * (weight[low + 1] - weight[low]);
    }
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
    const int n = 1056 * 256, rows = 24;
    Beams beams = {};
    for (int i = 0; i < 12; ++i) beams.narrow[i] = float(random_unit()), beams.wide[i] = float(random_unit());
    beams.used = 12;
    float *depth = uniform<float>((size_t)n * rows, 0, 0.99f), *out = zeros<float>(n);
    unsigned char *kind = uniform<unsigned char>(n, 0, 4);
    return report([&] { chosen_parameters<<<1056, 256>>>(beams, depth, kind, out, n, rows); }, out, n);
}
