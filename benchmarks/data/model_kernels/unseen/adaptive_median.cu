// A median over a window that grows until its middle is no extreme.
#include <algorithm>
#include <cstdio>
#include <vector>

__global__ void adaptive_median(const unsigned char *image, unsigned char *out, int width, int height, int largest) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
    unsigned char v[49];
    unsigned char found = image[y * width + x];
    for (int r = 1; r <= largest; ++r) {
        int m = 0;
        for (int dy = -r; dy <= r; ++dy)
            for (int dx = -r; dx <= r; ++dx) {
                unsigned char one = image[min(max(y + dy, 0), height - 1) * width + min(max(x + dx, 0), width - 1)];
                int j = m++;
                while (j > 0 && v[j - 1] > one) { v[j] = v[j - 1]; --j; }
                v[j] = one;
            }
        found = v[m / 2];
        if (found > v[0] && found < v[m - 1]) break;
    }
    out[y * width + x] = found;
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
    const int w = 1024, h = 512;
    unsigned char *s = uniform<unsigned char>(w * h, 0, 255);
    unsigned char *out = zeros<unsigned char>(w * h);
    return report([&] { adaptive_median<<<dim3(w / 128, h), 128>>>(s, out, w, h, 3); }, out, w * h);
}
