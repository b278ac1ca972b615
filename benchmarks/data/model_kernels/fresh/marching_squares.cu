// Length of the contour in each cell, with its table of segments as a local array.
// In the manner of filipecn/ponos, hermes/hermes/algorithms/cuda_marching_cubes.cu.
#include <algorithm>
#include <cstdio>
#include <vector>

__global__ void marching_squares(const float *field, float *length, int width, int height, float level) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int x = i % width, y = i / width;
    if (x + 1 >= width || y + 1 >= height) return;
    const int segments[16][4] = {{-1, -1, -1, -1}, {0, 3, -1, -1}, {0, 1, -1, -1}, {1, 3, -1, -1}, {1, 2, -1, -1}, {0, 1, 2, 3}, {0, 2, -1, -1}, {2, 3, -1, -1},
                                 {2, 3, -1, -1}, {0, 2, -1, -1}, {0, 3, 1, 2}, {1, 2, -1, -1}, {1, 3, -1, -1}, {0, 1, -1, -1}, {0, 3, -1, -1}, {-1, -1, -1, -1}};
    float a = field[i], b = field[i + 1], c = field[i + width + 1], d = field[i + width];
    int kind = (a > level) | (b > level) << 1 | (c > level) << 2 | (d > level) << 3;
    float px[4] = {(level - a) / (b - a), 1.f, (level - d) / (c - d), 0.f};
    float py[4] = {0.f, (level - b) / (c - b), 1.f, (level - a) / (d - a)};
    float sum = 0.f;
    for (int s = 0; s < 4 && segments[kind][s] >= 0; s += 2) {
        int from = segments[kind][s], to = segments[kind][s + 1];
        float dx = px[from] - px[to], dy = py[from] - py[to];
        sum += sqrtf(dx * dx + dy * dy);
    }
    length[i] = sum;
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
    const int width = 1024, height = 512, n = width * height;
    float *field = uniform<float>(n, 0, 1), *length = zeros<float>(n);
    return report([&] { marching_squares<<<2048, 256>>>(field, length, width, height, 0.5f); }, length, n);
}
