// A Kalman filter of four states whose matrices are passed to functions.
#include <algorithm>
#include <cstdio>
#include <vector>

__device__ __noinline__ void multiply(const float *a, const float *b, float *c, int m) {
    for (int i = 0; i < m; ++i)
        for (int j = 0; j < m; ++j) {
            float s = 0.f;
            for (int k = 0; k < m; ++k) s += a[i * m + k] * b[k * m + j];
            c[i * m + j] = s;
        }
}
__global__ void kalman_small(const float *z, float *out, int n, int steps) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    float f[16], p[16], q[16];
    for (int i = 0; i < 16; ++i) { f[i] = i % 5 == 0 ? .99f : .01f * (i % 3); p[i] = i % 5 == 0; }
    float x = 0.f;
    for (int s = 0; s < steps; ++s) {
        multiply(f, p, q, 4);
        multiply(q, f, p, 4);
        float gain = p[0] / (p[0] + .1f);
        x += gain * (z[s * n + t] - x);
        p[0] *= 1.f - gain;
    }
    out[t] = x + p[5];
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
    float *z = uniform<float>(16 * n, -1, 1);
    float *out = zeros<float>(n);
    return report([&] { kalman_small<<<512, 128>>>(z, out, n, 16); }, out, n);
}
