// Mixing rounds whose message words are taken in the order of a table.
// In the manner of 216k155/ccminer-phi-anxmod, cuda_myriadgroestl.cu.
#include <algorithm>
#include <cstdio>
#include <vector>

__constant__ unsigned char order_of_words[10][16];

#define MIX(a, b, c, d, x, y)                       \
    a += b + (x), d = __funnelshift_l(d ^ a, d ^ a, 16), c += d, b = __funnelshift_l(b ^ c, b ^ c, 20), \
    a += b + (y), d = __funnelshift_l(d ^ a, d ^ a, 24), c += d, b = __funnelshift_l(b ^ c, b ^ c, 25)

__global__ void blake_permuted(const unsigned *messages, unsigned *out, int count, int rounds) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= count) return;
    unsigned m[16];
    for (int i = 0; i < 16; ++i) m[i] = messages[16 * t + i];
    unsigned v0 = 1, v1 = 2, v2 = 3, v3 = 4, v4 = 5, v5 = 6, v6 = 7, v7 = 8;
    unsigned v8 = 9, v9 = 10, va = 11, vb = 12, vc = 13, vd = 14, ve = 15, vf = t;
    for (int r = 0; r < rounds; ++r) {
        const unsigned char *s = order_of_words[r % 10];
        MIX(v0, v4, v8, vc, m[s[0]], m[s[1]]);
        MIX(v1, v5, v9, vd, m[s[2]], m[s[3]]);
        MIX(v2, v6, va, ve, m[s[4]], m[s[5]]);
        MIX(v3, v7, vb, vf, m[s[6]], m[s[7]]);
        MIX(v0, v5, va, vf, m[s[8]], m[s[9]]);
        MIX(v1, v6, vb, vc, m[s[10]], m[s[11]]);
        MIX(v2, v7, v8, vd, m[s[12]], m[s[13]]);
        MIX(v3, v4, v9, ve, m[s[14]], m[s[15]]);
    }
    out[t] = v0 ^ v1 ^ v2 ^ v3 ^ v4 ^ v5 ^ v6 ^ v7 ^ v8 ^ v9 ^ va ^ vb ^ vc ^ vd ^ ve ^ vf;
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
    unsigned char order[10][16];
    for (auto &row : order) {
        for (int i = 0; i < 16; ++i) row[i] = (unsigned char)i;
        for (int i = 15; i > 0; --i) std::swap(row[i], row[int(random_unit() * (i + 1))]);
    }
    cudaMemcpyToSymbol(order_of_words, order, sizeof order);
    unsigned *messages = uniform<unsigned>(16 * n, 0, 4000000000u), *out = zeros<unsigned>(n);
    return report([&] { blake_permuted<<<1024, 256>>>(messages, out, n, 14); }, out, n);
}
