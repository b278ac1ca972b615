// Compartments of a neuron, a tridiagonal system for each, with parents by index.
#include <algorithm>
#include <cstdio>
#include <vector>

__global__ void leaky_dendrite(const float *current, const int *parent, float *voltage, int n, int steps) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    float v[16], d[16], r[16];
    for (int c = 0; c < 16; ++c) v[c] = -65.f + current[c * n + t];
    for (int s = 0; s < steps; ++s) {
        for (int c = 0; c < 16; ++c) { d[c] = 2.f; r[c] = v[c] * .1f + .01f * c; }
        for (int c = 15; c > 0; --c) {
            float f = .5f / d[c];
            d[parent[c]] -= f * .5f;
            r[parent[c]] += f * r[c];
        }
        v[0] = r[0] / d[0];
        for (int c = 1; c < 16; ++c) v[c] = (r[c] + .5f * v[parent[c]]) / d[c];
    }
    float sum = 0.f;
    for (int c = 0; c < 16; ++c) sum += v[c];
    voltage[t] = sum;
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
    const int n = 1024 * 128;
    float *c = uniform<float>(16 * n, 0, 5);
    std::vector<int> tree{0, 0, 1, 2, 2, 4, 1, 6, 7, 6, 9, 0, 11, 12, 12, 14};
    int *p = on_device(tree);
    float *out = zeros<float>(n);
    return report([&] { leaky_dendrite<<<1024, 128>>>(c, p, out, n, 30); }, out, n);
}
