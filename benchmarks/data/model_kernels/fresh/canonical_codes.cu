// Canonical code words from lengths: counts by length, the first code of each, then all codes.
// In the manner of ZaidQureshi/compression, include/zlib/zlib.h.
#include <algorithm>
#include <cstdio>
#include <vector>

#define LONGEST 15

__global__ void canonical_codes(const unsigned char *lengths, unsigned short *codes, int tables, int symbols) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= tables) return;
    unsigned short count[LONGEST + 1], next[LONGEST + 1];
    for (int l = 0; l <= LONGEST; ++l) count[l] = 0;
    for (int s = 0; s < symbols; ++s) ++count[lengths[s * tables + t]];
    count[0] = 0;
    unsigned code = 0;
#pragma unroll 1
    for (int l = 1; l <= LONGEST; ++l) {
        code = (code + count[l - 1]) << 1;
        next[l] = (unsigned short)code;
    }
    for (int s = 0; s < symbols; ++s) {
        int l = lengths[s * tables + t];
        codes[s * tables + t] = l ? next[l]++ : 0;
    }
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
    const int n = 528 * 128, symbols = 60;
    unsigned char *lengths = uniform<unsigned char>(symbols * n, 0, 16);
    unsigned short *codes = zeros<unsigned short>(symbols * n);
    return report([&] { canonical_codes<<<528, 128>>>(lengths, codes, n, symbols); }, codes, symbols * n);
}
