// A key stream for each thread from a permutation of 256 bytes.
#include <algorithm>
#include <cstdio>
#include <vector>

__global__ void rc4_streams(const unsigned char *keys, unsigned *out, int n, int length) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned char s[256];
    for (int i = 0; i < 256; ++i) s[i] = i;
    int j = 0;
    for (int i = 0; i < 256; ++i) {
        j = (j + s[i] + keys[(i & 15) * n + t]) & 255;
        unsigned char held = s[i];
        s[i] = s[j];
        s[j] = held;
    }
    unsigned found = 0;
    int i = 0;
    j = 0;
    for (int k = 0; k < length; ++k) {
        i = (i + 1) & 255;
        j = (j + s[i]) & 255;
        unsigned char held = s[i];
        s[i] = s[j];
        s[j] = held;
        found = found * 31 + s[(s[i] + s[j]) & 255];
    }
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
    unsigned char *k = uniform<unsigned char>(16 * n, 0, 255);
    unsigned *out = zeros<unsigned>(n);
    return report([&] { rc4_streams<<<512, 128>>>(k, out, n, 256); }, out, n);
}
