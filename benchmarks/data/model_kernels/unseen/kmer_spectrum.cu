// Counts of 3-mers of a read, of which the largest is told.
#include <algorithm>
#include <cstdio>
#include <vector>

__global__ void kmer_spectrum(const unsigned char *reads, int *out, int n, int length) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned char counts[64] = {};
    int k = 0;
    for (int i = 0; i < length; ++i) {
        k = (k << 2 | reads[i * n + t]) & 63;
        if (i > 1) ++counts[k];
    }
    int best = 0, sum = 0;
    for (int i = 0; i < 64; ++i) {
        if (counts[i] > counts[best]) best = i;
        sum += counts[i] * counts[i];
    }
    out[t] = best * 100000 + sum;
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
    unsigned char *r = uniform<unsigned char>(64 * n, 0, 4);
    int *out = zeros<int>(n);
    return report([&] { kmer_spectrum<<<2048, 128>>>(r, out, n, 64); }, out, n);
}
