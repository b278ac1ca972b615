// Weighted histogram of gradient directions about a key point, smoothed twice, and its peak.
// In the manner of mateuszpruchniak/GPUFeatureExtraction, GPU/OpenCL/DetectExtrema.cl.
#include <algorithm>
#include <cstdio>
#include <vector>

#define BINS 36

__global__ void orientation_bins(const float *image, const int *keys, float *peak, int count, int width, int radius) {
    int k = blockIdx.x * blockDim.x + threadIdx.x;
    if (k >= count) return;
    float hist[BINS];
    for (int b = 0; b < BINS; ++b) hist[b] = 0.f;
    const float *at = image + keys[k];
    for (int y = -radius; y <= radius; ++y)
        for (int x = -radius; x <= radius; ++x) {
            float dx = at[y * width + x + 1] - at[y * width + x - 1], dy = at[(y - 1) * width + x] - at[(y + 1) * width + x];
            int bin = (int)(BINS * (atan2f(dy, dx) + 3.14159265f) / 6.2831853f);
            hist[bin < BINS ? bin : 0] += sqrtf(dx * dx + dy * dy) * __expf(-0.05f * (x * x + y * y));
        }
    for (int pass = 0; pass < 2; ++pass) {
        float before = hist[BINS - 1], first = hist[0];
#pragma unroll 1
        for (int b = 0; b < BINS; ++b) {
            float own = hist[b];
            hist[b] = 0.25f * before + 0.5f * own + 0.25f * (b + 1 == BINS ? first : hist[b + 1]);
            before = own;
        }
    }
    int most = 0;
    for (int b = 1; b < BINS; ++b)
        if (hist[b] > hist[most]) most = b;
    peak[k] = most + hist[most];
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
    const int n = 512 * 128, width = 512;
    std::vector<int> places(n);
    for (int &one : places) one = (8 + int(random_unit() * 496)) * width + 8 + int(random_unit() * 496);
    int *keys = on_device(places);
    float *image = uniform<float>(width * width, 0, 1), *peak = zeros<float>(n);
    return report([&] { orientation_bins<<<512, 128>>>(image, keys, peak, n, width, 4); }, peak, n);
}
