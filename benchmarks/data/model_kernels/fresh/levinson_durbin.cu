// Predictor coefficients of every order from autocorrelations, with the error of each.
// In the manner of gchudov/cuetools.net, CUETools.FlaCuda/flacuda.cu.
#include <algorithm>
#include <cstdio>
#include <vector>

#define ORDER 16

__global__ void levinson_durbin(const float *correlations, float *coefficients, float *errors, int windows, int order) {
    int w = blockIdx.x * blockDim.x + threadIdx.x;
    if (w >= windows) return;
    float r[ORDER + 1], a[ORDER], held[ORDER];
    for (int i = 0; i <= order; ++i) r[i] = correlations[i * windows + w];
    float error = r[0];
    for (int k = 0; k < order; ++k) {
        float sum = -r[k + 1];
        for (int j = 0; j < k; ++j) sum -= a[j] * r[k - j];
        float reflection = sum / error;
        for (int j = 0; j < k; ++j) held[j] = a[j];
        for (int j = 0; j < k; ++j) a[j] = held[j] + reflection * held[k - 1 - j];
        a[k] = reflection;
        error *= 1.f - reflection * reflection;
        errors[k * windows + w] = error;
    }
    for (int k = 0; k < order; ++k) coefficients[k * windows + w] = a[k];
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
    const int n = 2112 * 64;
    std::vector<float> correlation(17 * n);
    for (int i = 0; i < 17; ++i)
        for (int w = 0; w < n; ++w) correlation[i * n + w] = (i == 0 ? 1.f : 0.f) + 0.04f * float(random_unit());
    float *correlations = on_device(correlation), *coefficients = zeros<float>(16 * n), *errors = zeros<float>(16 * n);
    return report([&] { levinson_durbin<<<2112, 64>>>(correlations, coefficients, errors, n, 14); }, coefficients, 14 * n);
}
