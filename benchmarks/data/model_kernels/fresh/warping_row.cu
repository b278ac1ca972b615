// Dynamic time warping to a short series within a band, one row of costs.
// In the manner of alexkyllo/cuTimeWarp, src/kernels/soft_dtw_naive_multi.cuh.
#include <algorithm>
#include <cstdio>
#include <vector>

#define LONGEST 48

__global__ void warping_row(const float *series, const float *pattern, float *cost, int count, int length, int pattern_length, int band) {
    int s = blockIdx.x * blockDim.x + threadIdx.x;
    if (s >= count) return;
    float row[LONGEST + 1];
    for (int j = 0; j <= pattern_length; ++j) row[j] = 1e30f;
    row[0] = 0.f;
    for (int i = 0; i < length; ++i) {
        float value = series[(size_t)i * count + s];
        int from = max(1, i - band), to = min(pattern_length, i + band);
        float diagonal = row[from - 1], before = 1e30f;
        row[from - 1] = 1e30f;
        for (int j = from; j <= to; ++j) {
            float d = value - pattern[j - 1], above = row[j];
            before = d * d + fminf(diagonal, fminf(above, before));
            row[j] = before;
            diagonal = above;
        }
    }
    cost[s] = row[pattern_length];
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
    const int n = 528 * 128, length = 40;
    float *series = uniform<float>((size_t)n * length, 0, 1), *pattern = uniform<float>(48, 0, 1), *cost = zeros<float>(n);
    return report([&] { warping_row<<<528, 128>>>(series, pattern, cost, n, length, 40, 10); }, cost, n);
}
