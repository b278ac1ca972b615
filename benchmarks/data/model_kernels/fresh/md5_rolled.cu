// A hash over words that are filled byte by byte, its steps in one loop.
// In the manner of marosmatisko/HashDog, HashDog/md5_h.h.
#include <algorithm>
#include <cstdio>
#include <vector>

__global__ void md5_rolled(const unsigned char *words, const unsigned *sines, unsigned *digests, int count, int length, int steps) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= count) return;
    unsigned block[16] = {};
    for (int i = 0; i < length; ++i) block[i >> 2] |= (unsigned)words[i * count + t] << (8 * (i & 3));
    block[length >> 2] |= 128u << (8 * (length & 3));
    block[14] = 8 * length;
    unsigned a = 0x67452301, b = 0xefcdab89, c = 0x98badcfe, d = 0x10325476;
    for (int i = 0; i < steps; ++i) {
        unsigned f;
        int g, by;
        if (i < 16) f = (b & c) | (~b & d), g = i, by = 7 + 5 * (i & 3);
        else if (i < 32) f = (d & b) | (~d & c), g = (5 * i + 1) & 15, by = 5 + 4 * (i & 3);
        else if (i < 48) f = b ^ c ^ d, g = (3 * i + 5) & 15, by = 4 + 6 * (i & 3);
        else f = c ^ (b | ~d), g = (7 * i) & 15, by = 6 + 5 * (i & 3);
        unsigned sum = a + f + sines[i] + block[g];
        a = d, d = c, c = b;
        b += __funnelshift_l(sum, sum, by);
    }
    digests[t] = a + b + c + d;
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
    const int n = 528 * 256;
    unsigned char *words = uniform<unsigned char>(32 * n, 32, 126);
    unsigned *sines = uniform<unsigned>(64, 0, 4294967295u), *digests = zeros<unsigned>(n);
    return report([&] { md5_rolled<<<528, 256>>>(words, sines, digests, n, 18, 64); }, digests, n);
}
