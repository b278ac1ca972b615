// A join against a table in global memory that collects its matches.
#include <algorithm>
#include <cstdio>
#include <vector>

__global__ void hash_probe(const uint2 *table, const unsigned *keys, unsigned *out, int n, unsigned mask, int rows) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned match[16];
    int m = 0;
    for (int r = 0; r < rows; ++r) {
        unsigned key = keys[r * n + t];
        for (unsigned at = key * 2654435761u >> 12;; ++at) {
            uint2 one = table[at & mask];
            if (one.x == key && m < 16) match[m++] = one.y;
            if (!one.x || one.x == key) break;
        }
    }
    unsigned found = 0;
    for (int i = 0; i < m; ++i) found = found * 31 + match[i];
    out[t] = found;
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
    const int n = 2048 * 128;
    const unsigned size = 1 << 20;
    std::vector<unsigned> rows(2 * size);
    for (unsigned k = 1; k < size / 2; ++k) { unsigned at = k * 2654435761u >> 12; while (rows[2 * (at & size - 1)]) ++at; rows[2 * (at & size - 1)] = k; rows[2 * (at & size - 1) + 1] = k * 7; } unsigned *table = on_device(rows);
    unsigned *k = uniform<unsigned>(8 * n, 1, size);
    unsigned *out = zeros<unsigned>(n);
    return report([&] { hash_probe<<<2048, 128>>>((uint2 *) table, k, out, n, size - 1, 8); }, out, n);
}
