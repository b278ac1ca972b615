// A histogram of directions weighted by magnitude for each patch.
#include <algorithm>
#include <cstdio>
#include <vector>

__global__ void gradient_histogram(const float *image, float *out, int width, int patches) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    float h[36] = {};
    int x0 = t % (width / 8 - 1) * 8 + 1, y0 = t / (width / 8 - 1) * 8 + 1;
    for (int y = y0; y < y0 + 8; ++y)
        for (int x = x0; x < x0 + 8; ++x) {
            float gx = image[y * width + x + 1] - image[y * width + x - 1], gy = image[(y + 1) * width + x] - image[(y - 1) * width + x];
            int bin = min(35, int((atan2f(gy, gx) + 3.1415927f) * 5.729578f));
            h[bin] += gx * gx + gy * gy;
        }
    float largest = 0.f;
    for (int b = 0; b < 36; ++b) largest = fmaxf(largest, .25f * h[(b + 35) % 36] + .5f * h[b] + .25f * h[(b + 1) % 36]);
    out[t] = largest;
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
    const int w = 2048;
    float *s = uniform<float>(w * w, 0, 1);
    const int n = 480 * 128;
    float *out = zeros<float>(n);
    return report([&] { gradient_histogram<<<480, 128>>>(s, out, w, n); }, out, n);
}
