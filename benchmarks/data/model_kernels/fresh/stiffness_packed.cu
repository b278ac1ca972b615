// Packed element matrices of four-node elements, with a rule whose points are an argument.
// In the manner of fjramireg/StiffMa, Performance/perftestWIN_V_GPU.m.
#include <algorithm>
#include <cstdio>
#include <vector>

__global__ void stiffness_packed(const float *nodes, float *packed, int elements, const float *points, const float *weights, int rule, float nu) {
    int e = blockIdx.x * blockDim.x + threadIdx.x;
    if (e >= elements) return;
    float ke[36];
    for (int i = 0; i < 36; ++i) ke[i] = 0.f;
    float x[4], y[4];
    for (int a = 0; a < 4; ++a) x[a] = nodes[(2 * a) * elements + e], y[a] = nodes[(2 * a + 1) * elements + e];
    for (int g = 0; g < rule * rule; ++g) {
        float s = points[g % rule], t = points[g / rule];
        float ds[4] = {-(1 - t), 1 - t, 1 + t, -(1 + t)}, dt[4] = {-(1 - s), -(1 + s), 1 + s, 1 - s};
        float j00 = 0, j01 = 0, j10 = 0, j11 = 0;
        for (int a = 0; a < 4; ++a) j00 += ds[a] * x[a], j01 += ds[a] * y[a], j10 += dt[a] * x[a], j11 += dt[a] * y[a];
        float det = j00 * j11 - j01 * j10, scale = weights[g % rule] * weights[g / rule] / det;
        int at = 0;
#pragma unroll 1
        for (int i = 0; i < 8; ++i) {
            int a = i >> 1;
            float ax = j11 * ds[a] - j01 * dt[a], ay = j00 * dt[a] - j10 * ds[a];
#pragma unroll 1
            for (int j = 0; j <= i; ++j) {
                int b = j >> 1;
                float bx = j11 * ds[b] - j01 * dt[b], by = j00 * dt[b] - j10 * ds[b];
                float same = (i & 1) == 0 ? ax * bx + 0.5f * (1 - nu) * ay * by : ay * by + 0.5f * (1 - nu) * ax * bx;
                ke[at++] += scale * ((i & 1) == (j & 1) ? same : nu * ax * by + 0.5f * (1 - nu) * ay * bx);
            }
        }
    }
    for (int i = 0; i < 36; ++i) packed[i * elements + e] = ke[i];
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
    const int n = 528 * 128;
    std::vector<float> corners(8 * n);
    for (int e = 0; e < n; ++e)
        for (int c = 0; c < 8; ++c) corners[c * n + e] = ((c == 2 || c == 4 || c == 5 || c == 7) ? 1.f : 0.f) + 0.2f * float(random_unit());
    float *nodes = on_device(corners), *packed = zeros<float>(36 * n);
    float *points = on_device(std::vector<float>{-0.57735f, 0.57735f}), *weights = on_device(std::vector<float>{1, 1});
    return report([&] { stiffness_packed<<<528, 128>>>(nodes, packed, n, points, weights, 2, 0.3f); }, packed, 36 * n);
}
