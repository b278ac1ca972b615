// Finds repeats in a stream with a table of last places by hash, one stream for each thread.
// In the manner of inikep/lzbench, nvcomp/src/LZ4Kernels.cuh.
#include <algorithm>
#include <cstdio>
#include <vector>

__global__ void match_candidates(const unsigned char *in, unsigned *lengths, int streams, int length) {
    int s = blockIdx.x * blockDim.x + threadIdx.x;
    if (s >= streams) return;
    unsigned char last[128];
    for (int i = 0; i < 128; ++i) last[i] = 255;
    unsigned total = 0;
    for (int i = 0; i + 4 <= length;) {
        unsigned key = in[(size_t)i * streams + s] | in[(size_t)(i + 1) * streams + s] << 2 | in[(size_t)(i + 2) * streams + s] << 4;
        unsigned place = key * 2654435761u >> 25;
        int before = last[place], run = 0;
        last[place] = (unsigned char)i;
        if (before != 255)
            while (i + run < length && in[(size_t)(before + run) * streams + s] == in[(size_t)(i + run) * streams + s]) ++run;
        if (run >= 4) total += run;
        i += run >= 4 ? run : 1;
    }
    lengths[s] = total;
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
    const int n = 264 * 128, length = 200;
    unsigned char *in = uniform<unsigned char>((size_t)n * length, 0, 4);
    unsigned *lengths = zeros<unsigned>(n);
    return report([&] { match_candidates<<<264, 128>>>(in, lengths, n, length); }, lengths, n);
}
