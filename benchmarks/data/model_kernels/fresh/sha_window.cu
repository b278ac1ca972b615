// Rounds of a hash over a window of 16 words of its schedule.
// In the manner of MaynardMiner/MM.Hash, Bin/KlausT/cuda_bitcoin.cu.
#include <algorithm>
#include <cstdio>
#include <vector>

__constant__ unsigned round_constants[64];

__device__ unsigned rotated(unsigned x, int by) { return __funnelshift_r(x, x, by); }

__global__ void sha_window(const unsigned *messages, unsigned *digests, int count, int rounds) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= count) return;
    unsigned w[16];
    for (int i = 0; i < 16; ++i) w[i] = messages[i * count + t];
    unsigned a = 0x6a09e667, b = 0xbb67ae85, c = 0x3c6ef372, d = 0xa54ff53a;
    unsigned e = 0x510e527f, f = 0x9b05688c, g = 0x1f83d9ab, h = 0x5be0cd19;
    for (int i = 0; i < rounds; ++i) {
        if (i >= 16) {
            unsigned near = w[(i + 1) & 15], far = w[(i + 14) & 15];
            unsigned s0 = rotated(near, 7) ^ rotated(near, 18) ^ (near >> 3);
            unsigned s1 = rotated(far, 17) ^ rotated(far, 19) ^ (far >> 10);
            w[i & 15] += s0 + w[(i + 9) & 15] + s1;
        }
        unsigned t1 = h + (rotated(e, 6) ^ rotated(e, 11) ^ rotated(e, 25)) + ((e & f) ^ (~e & g)) + round_constants[i & 63] + w[i & 15];
        unsigned t2 = (rotated(a, 2) ^ rotated(a, 13) ^ rotated(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
        h = g, g = f, f = e, e = d + t1, d = c, c = b, b = a, a = t1 + t2;
    }
    digests[t] = a ^ e;
    digests[count + t] = b + f;
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
    const int n = 1024 * 256;
    unsigned constants[64];
    for (unsigned &one : constants) one = unsigned(random_unit() * 4294967295.0);
    cudaMemcpyToSymbol(round_constants, constants, sizeof constants);
    unsigned *messages = uniform<unsigned>(16 * n, 0, 4000000000u), *digests = zeros<unsigned>(2 * n);
    return report([&] { sha_window<<<1024, 256>>>(messages, digests, n, 64); }, digests, 2 * n);
}
