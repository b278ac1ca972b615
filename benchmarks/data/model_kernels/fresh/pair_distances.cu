// Histogram of the distances of a particle to its neighbours, written out for each particle.
// In the manner of dwille/bbtools, c-tools/multiparticle_statistics/src/sort_kernel.cu.
#include <algorithm>
#include <cstdio>
#include <vector>

#define BINS 32

__global__ void pair_distances(const float *x, const float *y, const float *z, unsigned *out, int count, int near, float scale) {
    int p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= count) return;
    unsigned bins[BINS];
    for (int b = 0; b < BINS; ++b) bins[b] = 0;
    float px = x[p], py = y[p], pz = z[p];
    for (int k = 1; k <= near; ++k) {
        int o = (p + k) % count;
        float dx = x[o] - px, dy = y[o] - py, dz = z[o] - pz;
        float r = sqrtf(dx * dx + dy * dy + dz * dz) * scale;
        if (r < BINS) ++bins[(int)r];
    }
    for (int b = 0; b < BINS; ++b) out[b * count + p] = bins[b];
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
    const int n = 264 * 128;
    float *x = uniform<float>(n, 0, 1), *y = uniform<float>(n, 0, 1), *z = uniform<float>(n, 0, 1);
    unsigned *out = zeros<unsigned>(32 * n);
    return report([&] { pair_distances<<<264, 128>>>(x, y, z, out, n, 256, 24.f); }, out, 32 * n);
}
