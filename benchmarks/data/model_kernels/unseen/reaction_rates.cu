// Rates of reactions whose species are listed by number in constant structures.
#include <algorithm>
#include <cstdio>
#include <vector>

struct Reactions { float rate[24]; unsigned char first[24], second[24], made[24]; int count; };
__global__ void reaction_rates(const float *y, float *dy, int n, Reactions r) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    float c[12], d[12];
    for (int s = 0; s < 12; ++s) { c[s] = y[s * n + t]; d[s] = 0.f; }
    for (int k = 0; k < r.count; ++k) {
        float v = r.rate[k] * c[r.first[k]] * c[r.second[k]];
        d[r.first[k]] -= v;
        d[r.second[k]] -= v;
        d[r.made[k]] += v;
    }
    for (int s = 0; s < 12; ++s) dy[s * n + t] = d[s];
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
    float *y = uniform<float>(12 * n, 0, 1);
    float *out = zeros<float>(12 * n);
    Reactions r;
    r.count = 24;
    for (int k = 0; k < 24; ++k) { r.rate[k] = .1f * k; r.first[k] = k * 5 % 12; r.second[k] = k * 7 % 12; r.made[k] = k * 11 % 12; };
    return report([&] { reaction_rates<<<4096, 128>>>(y, out, n, r); }, out, 12 * n);
}
