// An ant's tour: cities are drawn by chance among those that were not visited.
// In the manner of mattnappo/aco-tsp, tasks.md.
#include <algorithm>
#include <cstdio>
#include <vector>

#define CITIES 32

__global__ void ant_roulette(const float *attraction, const float *draws, int *tours, int ants) {
    int a = blockIdx.x * blockDim.x + threadIdx.x;
    if (a >= ants) return;
    bool visited[CITIES];
    float chance[CITIES];
    for (int c = 0; c < CITIES; ++c) visited[c] = false;
    int city = a % CITIES;
    visited[city] = true;
    for (int step = 1; step < CITIES; ++step) {
        float sum = 0.f;
#pragma unroll 1
        for (int c = 0; c < CITIES; ++c) {
            chance[c] = visited[c] ? 0.f : attraction[city * CITIES + c];
            sum += chance[c];
        }
        float draw = draws[step * ants + a] * sum;
        int next = -1;
        for (int c = 0; c < CITIES; ++c) {
            if (chance[c] <= 0.f) continue;
            next = c;
            draw -= chance[c];
            if (draw <= 0.f) break;
        }
        city = next;
        visited[city] = true;
        tours[step * ants + a] = city;
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
    const int n = 132 * 64;
    float *attraction = uniform<float>(32 * 32, 0.1f, 1), *draws = uniform<float>(32 * n, 0, 1);
    int *tours = zeros<int>(32 * n);
    return report([&] { ant_roulette<<<132, 64>>>(attraction, draws, tours, n); }, tours, 32 * n);
}
