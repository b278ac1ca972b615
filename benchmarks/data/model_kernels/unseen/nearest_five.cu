// The five nearest points, kept in order with their numbers.
#include <algorithm>
#include <cstdio>
#include <vector>

__global__ void nearest_five(const float2 *points, const float2 *queries, int *out, int n, int count, int wanted) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    float best[8];
    int which[8];
    for (int k = 0; k < wanted; ++k) best[k] = 1e30f;
    float2 q = queries[t];
    for (int i = 0; i < count; ++i) {
        float2 p = points[i];
        float d = (p.x - q.x) * (p.x - q.x) + (p.y - q.y) * (p.y - q.y);
        if (d >= best[wanted - 1]) continue;
        int k = wanted - 1;
        for (; k > 0 && best[k - 1] > d; --k) { best[k] = best[k - 1]; which[k] = which[k - 1]; }
        best[k] = d;
        which[k] = i;
    }
    for (int k = 0; k < wanted; ++k) out[k * n + t] = which[k];
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
    const int n = 512 * 128;
    float *p = uniform<float>(2 * 1000, 0, 1);
    float *q = uniform<float>(2 * n, 0, 1);
    int *out = zeros<int>(5 * n);
    return report([&] { nearest_five<<<512, 128>>>((float2 *) p, (float2 *) q, out, n, 1000, 5); }, out, 5 * n);
}
