// Monte Carlo paths that keep the variances of the last days in a ring.
#include <algorithm>
#include <cstdio>
#include <vector>

__global__ void heston_paths(const unsigned *seeds, float *payoff, int n, int days, int window) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned r = seeds[t];
    float ring[32], sum = 0.f, s = 100.f, v = .04f;
    for (int i = 0; i < window; ++i) ring[i] = 0.f;
    for (int d = 0; d < days; ++d) {
        r = r * 1664525u + 1013904223u;
        float z1 = (int(r) >> 8) * 1.2e-7f;
        r = r * 1664525u + 1013904223u;
        float z2 = (int(r) >> 8) * 1.2e-7f;
        v = fmaxf(v + .01f * (.04f - v) + .05f * sqrtf(v) * z1, 1e-4f);
        s *= 1.f + sqrtf(v * .004f) * (.3f * z1 + .95f * z2);
        int at = d % window;
        sum += v - ring[at];
        ring[at] = v;
    }
    payoff[t] = fmaxf(s - 100.f, 0.f) * sum;
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
    const int n = 4096 * 128;
    unsigned *s = uniform<unsigned>(n, 1, 4e9);
    float *out = zeros<float>(n);
    return report([&] { heston_paths<<<4096, 128>>>(s, out, n, 250, 20); }, out, n);
}
