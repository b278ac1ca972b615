// The commonest intensity of a disc and the mean colour of its pixels.
// In the manner of OpenCL/GEGL-OpenCL, opencl/oilify.cl.
#include <algorithm>
#include <cstdio>
#include <vector>

#define INTENSITIES 20

__global__ void oilify(const float *in, float *out, int width, int height, int radius) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int x = i % width, y = i / width;
    if (y >= height) return;
    int count[INTENSITIES];
    float sum[INTENSITIES];
    for (int b = 0; b < INTENSITIES; ++b) {
        count[b] = 0;
        sum[b] = 0.f;
    }
    for (int v = -radius; v <= radius; ++v)
        for (int u = -radius; u <= radius; ++u) {
            if (u * u + v * v > radius * radius) continue;
            float pixel = in[min(max(y + v, 0), height - 1) * width + min(max(x + u, 0), width - 1)];
            int b = (int)(pixel * (INTENSITIES - 1));
            ++count[b];
            sum[b] += pixel;
        }
    int most = 0;
    for (int b = 1; b < INTENSITIES; ++b)
        if (count[b] > count[most]) most = b;
    out[i] = sum[most] / count[most];
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
    return report([&] { oilify<<<1024, 256>>>(in, out, width, height, 3); }, out, width * height);
}
