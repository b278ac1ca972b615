// The median of a window of 5 by 5 bytes by half a selection sort.
// In the manner of dhernandez0/sgm, median_filter.h.
#include <algorithm>
#include <cstdio>
#include <vector>

__global__ void median_window(const unsigned char *in, unsigned char *out, int rows, int columns) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int row = i / columns, column = i % columns;
    if (row < 2 || column < 2 || row >= rows - 2 || column >= columns - 2) return;
    unsigned char window[25];
    for (int y = 0; y < 5; ++y)
        for (int x = 0; x < 5; ++x) window[5 * y + x] = in[(row - 2 + y) * columns + column - 2 + x];
#pragma unroll 1
    for (int k = 0; k < 13; ++k) {
        int least = k;
        for (int j = k + 1; j < 25; ++j)
            if (window[j] < window[least]) least = j;
        unsigned char held = window[k];
        window[k] = window[least];
        window[least] = held;
    }
    out[i] = window[12];
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
    const int rows = 512, columns = 512;
    unsigned char *in = uniform<unsigned char>(rows * columns, 0, 255), *out = zeros<unsigned char>(rows * columns);
    return report([&] { median_window<<<1024, 256>>>(in, out, rows, columns); }, out, rows * columns);
}
