// Improves short tours by reversals of parts.
#include <algorithm>
#include <cstdio>
#include <vector>

__global__ void two_opt_tours(const float *distance, const unsigned *seeds, float *out, int n, int tries) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    int tour[24];
    for (int i = 0; i < 24; ++i) tour[i] = i;
    unsigned r = seeds[t];
    for (int k = 0; k < tries; ++k) {
        r = r * 1664525u + 1013904223u;
        int i = 1 + (r >> 8) % 21, j = i + 1 + (r >> 20) % (23 - i);
        float gain = distance[tour[i - 1] * 24 + tour[i]] + distance[tour[j] * 24 + tour[(j + 1) % 24]]
            - distance[tour[i - 1] * 24 + tour[j]] - distance[tour[i] * 24 + tour[(j + 1) % 24]];
        if (gain > 0)
            for (; i < j; ++i, --j) { int held = tour[i]; tour[i] = tour[j]; tour[j] = held; }
    }
    float sum = 0.f;
    for (int i = 0; i < 24; ++i) sum += distance[tour[i] * 24 + tour[(i + 1) % 24]];
    out[t] = sum;
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
    const int n = 512 * 128;
    float *d = uniform<float>(576, 0, 1);
    unsigned *s = uniform<unsigned>(n, 1, 4e9);
    float *out = zeros<float>(n);
    return report([&] { two_opt_tours<<<512, 128>>>(d, s, out, n, 100); }, out, n);
}
