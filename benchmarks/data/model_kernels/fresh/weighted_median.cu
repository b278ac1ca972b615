// The weighted median of a column of bytes through a histogram of all 256 values.
// In the manner of KazuMishiba/Fast-Guided-Median-Filter, Fast-Guided-Median-Filter/refactoring/save3/FGMF_GPU_Or_ver0.cu.
#include <algorithm>
#include <cstdio>
#include <vector>

__global__ void weighted_median(const unsigned char *image, const unsigned char *weights, unsigned char *out, int columns, int rows, int window) {
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c >= columns) return;
    unsigned short hist[256];
    for (int v = 0; v < 256; ++v) hist[v] = 0;
    unsigned total = 0;
    for (int r = 0; r < rows; ++r) {
        int w = weights[r * columns + c];
        hist[image[r * columns + c]] += w;
        total += w;
        if (r >= window) {
            int old = weights[(r - window) * columns + c];
            hist[image[(r - window) * columns + c]] -= old;
            total -= old;
        }
        unsigned seen = 0;
        int v = -1;
        while (2 * seen < total) seen += hist[++v];
        out[r * columns + c] = (unsigned char)max(v, 0);
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
    const int n = 264 * 64, rows = 32;
    unsigned char *image = uniform<unsigned char>(rows * n, 0, 255), *weights = uniform<unsigned char>(rows * n, 1, 16), *out = zeros<unsigned char>(rows * n);
    return report([&] { weighted_median<<<264, 64>>>(image, weights, out, n, rows, 15); }, out, rows * n);
}
