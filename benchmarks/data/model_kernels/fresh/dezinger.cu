// A median that replaces only outliers; the radius of the window is an argument.
// In the manner of dkazanc/larix, src/Core/GPU_modules/MedianFilt_GPU_core.cu.
#include <algorithm>
#include <cstdio>
#include <vector>

#define LONGEST 49

__global__ void dezinger(const float *in, float *out, int radius, float threshold, int width, int height) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int x = i % width, y = i / width;
    if (y >= height) return;
    float values[LONGEST];
    int count = 0;
    for (int dy = -radius; dy <= radius; ++dy)
        for (int dx = -radius; dx <= radius; ++dx) {
            int u = x + dx, v = y + dy;
            if (u < 0 || u >= width) u = x;
            if (v < 0 || v >= height) v = y;
            values[count++] = in[u + v * width];
        }
    int low = 0, high = count - 1, middle = count / 2;
    while (low < high) {
        float pivot = values[middle];
        int l = low, h = high;
        do {
            while (values[l] < pivot) ++l;
            while (pivot < values[h]) --h;
            if (l <= h) {
                float held = values[l];
                values[l] = values[h];
                values[h] = held;
                ++l;
                --h;
            }
        } while (l <= h);
        if (h < middle) low = l;
        if (middle < l) high = h;
    }
    float old = in[i];
    out[i] = fabsf(old - values[middle]) >= threshold ? values[middle] : old;
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
    const int width = 512, height = 512;
    float *in = uniform<float>(width * height, 0, 1), *out = zeros<float>(width * height);
    return report([&] { dezinger<<<1024, 256>>>(in, out, 2, 0.3f, width, height); }, out, width * height);
}
