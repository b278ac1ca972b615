// Likelihoods of a position at tags, summed up, then positions drawn by them.
// In the manner of cliu3/pf_geolocation, pf_geolocation/nearest.cu.
#include <algorithm>
#include <cstdio>
#include <vector>

#define TAGS 20

__global__ void resampled_tags(const float *particles, const float *depths, int *drawn, int count, int tags) {
    int p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= count) return;
    float cumulative[TAGS];
    float x = particles[2 * p], y = particles[2 * p + 1], sum = 0.f;
    for (int t = 0; t < tags; ++t) {
        float d = depths[t] - x * t * 0.1f - y;
        sum += __expf(-d * d * 4.f);
        cumulative[t] = sum;
    }
    int place = 0, last = 0;
    for (int k = 0; k < tags; ++k) {
        float level = (k + x) / (tags + 1) * sum;
        while (last + 1 < tags && cumulative[last] < level) ++last;
        place = 31 * place + last;
    }
    drawn[p] = place;
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
    const int n = 1024 * 256;
    float *particles = uniform<float>(2 * n, 0, 1), *depths = uniform<float>(20, 0, 2);
    int *drawn = zeros<int>(n);
    return report([&] { resampled_tags<<<1024, 256>>>(particles, depths, drawn, n, 18); }, drawn, n);
}
