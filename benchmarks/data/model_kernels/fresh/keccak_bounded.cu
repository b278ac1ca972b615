// Permutes 25 lanes of 64 bits in registers, with bounds that leave 42 registers.
// In the manner of aoli-al/ethminer, libethash-cuda/four.cu.
#include <algorithm>
#include <cstdio>
#include <vector>

__device__ unsigned long long turned(unsigned long long x, int by) { return by ? x << by | x >> (64 - by) : x; }

__global__ void __launch_bounds__(512, 3) keccak_bounded(const unsigned long long *in, unsigned long long *out, int count, int rounds) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= count) return;
    unsigned long long a[25], c[5], b[25];
#pragma unroll
    for (int i = 0; i < 25; ++i) a[i] = in[i % 8 * count + t] ^ i;
#pragma unroll 1
    for (int r = 0; r < rounds; ++r) {
#pragma unroll
        for (int x = 0; x < 5; ++x) c[x] = a[x] ^ a[x + 5] ^ a[x + 10] ^ a[x + 15] ^ a[x + 20];
#pragma unroll
        for (int i = 0; i < 25; ++i) a[i] ^= c[(i + 4) % 5] ^ turned(c[(i + 1) % 5], 1);
#pragma unroll
        for (int i = 0; i < 25; ++i) b[i % 5 * 5 + (2 * (i / 5) + 3 * (i % 5)) % 5] = turned(a[i], (i * 11 + 3) % 64);
#pragma unroll
        for (int i = 0; i < 25; ++i) a[i] = b[i] ^ (~b[i / 5 * 5 + (i + 1) % 5] & b[i / 5 * 5 + (i + 2) % 5]);
        a[0] ^= 0x8000000080008081ull + r;
    }
    out[t] = a[0] ^ a[7] ^ a[13] ^ a[24];
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
    const int n = 264 * 512;
    unsigned long long *in = uniform<unsigned long long>(8 * n, 0, 1ull << 62), *out = zeros<unsigned long long>(n);
    return report([&] { keccak_bounded<<<264, 512>>>(in, out, n, 24); }, out, n);
}
