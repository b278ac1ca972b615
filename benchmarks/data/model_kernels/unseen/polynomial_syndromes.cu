// Syndromes and products over a field whose logarithms are bytes.
#include <algorithm>
#include <cstdio>
#include <vector>

__global__ void polynomial_syndromes(const unsigned char *code, const unsigned char *power, const unsigned char *logarithm, unsigned *out, int n, int length) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned char s[16] = {};
    for (int i = 0; i < length; ++i) {
        unsigned char c = code[i * n + t];
        for (int k = 0; k < 16; ++k) s[k] = s[k] ? power[(logarithm[s[k]] + k) % 255] ^ c : c;
    }
    unsigned found = 0;
    for (int k = 0; k < 16; ++k) found = found * 31 + s[s[k] & 15];
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
    const int n = 512 * 128;
    unsigned char *c = uniform<unsigned char>(32 * n, 0, 255);
    unsigned char *p = uniform<unsigned char>(256, 1, 255);
    unsigned char *l = uniform<unsigned char>(256, 0, 254);
    unsigned *out = zeros<unsigned>(n);
    return report([&] { polynomial_syndromes<<<512, 128>>>(c, p, l, out, n, 32); }, out, n);
}
