// Nearest distances through a buffer of candidates that is merged when it is full.
// In the manner of matyas-brabec/2025-europar-llm, prompts/knn07.prompt.md.
#include <algorithm>
#include <cstdio>
#include <vector>

#define KEPT 16
#define BUFFER 8

__global__ void knn_buffered(const float4 *points, const float4 *queries, float *out, int n, int m) {
    int q = blockIdx.x * blockDim.x + threadIdx.x;
    if (q >= n) return;
    float kept[KEPT], waiting[BUFFER];
    int count = 0;
    for (int i = 0; i < KEPT; ++i) kept[i] = 1e30f;
    float limit = 1e30f;
    float4 at = queries[q];
    for (int p = 0; p <= m; ++p) {
        if (p < m) {
            float4 o = points[p];
            float d = (o.x - at.x) * (o.x - at.x) + (o.y - at.y) * (o.y - at.y) + (o.z - at.z) * (o.z - at.z);
            if (d < limit) waiting[count++] = d;
        }
        if (count == BUFFER || p == m) {
            for (int i = 0; i < count; ++i) {
                float value = waiting[i];
                int j = KEPT - 1;
                if (value >= kept[j]) continue;
                for (; j > 0 && kept[j - 1] > value; --j) kept[j] = kept[j - 1];
                kept[j] = value;
            }
            count = 0;
            limit = kept[KEPT - 1];
        }
    }
    float sum = 0.f;
    for (int i = 0; i < KEPT; ++i) sum += kept[i];
    out[q] = sum;
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
    const int n = 512 * 128, m = 700;
    float4 *points = (float4 *)uniform<float>(4 * m, 0, 1), *queries = (float4 *)uniform<float>(4 * n, 0, 1);
    float *out = zeros<float>(n);
    return report([&] { knn_buffered<<<512, 128>>>(points, queries, out, n, m); }, out, n);
}
