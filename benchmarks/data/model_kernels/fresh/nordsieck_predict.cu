// Steps of a multistep integrator: the history is shifted by Pascal's triangle, its order changes by thread.
// In the manner of bgin/Radar-ElectroOptical-Simulation, gpu/kernels/cuLsoda_kernel.cu.
#include <algorithm>
#include <cstdio>
#include <vector>

__global__ void nordsieck_predict(const float *start, const int *orders, float *out, int systems, int steps) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= systems) return;
    float history[13];
    int order = orders[t];
    for (int i = 0; i <= order; ++i) history[i] = start[i * systems + t];
    float error = 0.f;
    for (int step = 0; step < steps; ++step) {
        for (int k = 0; k < order; ++k)
            for (int j = order - 1; j >= k; --j) history[j] += history[j + 1];
        float wrong = -0.3f * history[0] - history[1];
        for (int j = 0; j <= order; ++j) history[j] += wrong / (float)(1 + j * j);
        error = fmaxf(error, fabsf(wrong));
    }
    out[t] = history[0] + error;
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
    const int n = 264 * 128;
    float *start = uniform<float>(13 * n, 0, 0.01f), *out = zeros<float>(n);
    int *orders = uniform<int>(n, 3, 13);
    return report([&] { nordsieck_predict<<<264, 128>>>(start, orders, out, n, 12); }, out, n);
}
