// Reduces small symmetric matrices to tridiagonal form; their order is an argument.
// In the manner of Crowzain/Projet-CUDA, eigen0Cuda.h.
#include <algorithm>
#include <cstdio>
#include <vector>

#define MOST 8

__global__ void householder_tridiagonal(const double *matrices, double *diagonal, double *beside, int n, int count) {
    int m = blockIdx.x * blockDim.x + threadIdx.x;
    if (m >= count) return;
    double a[MOST * MOST], e[MOST];
    for (int i = 0; i < n * n; ++i) a[i] = matrices[(size_t)i * count + m];
    for (int i = n - 1; i > 0; --i) {
        double h = 0;
        for (int k = 0; k < i; ++k) h += a[i * n + k] * a[i * n + k];
        double f = a[i * n + i - 1], g = f >= 0 ? -sqrt(h) : sqrt(h);
        h -= f * g;
        a[i * n + i - 1] = f - g;
        double sum = 0;
        for (int j = 0; j < i; ++j) {
            double dot = 0;
            for (int k = 0; k < i; ++k) dot += (k <= j ? a[j * n + k] : a[k * n + j]) * a[i * n + k];
            e[j] = dot / h;
            sum += e[j] * a[i * n + j];
        }
        double half = sum / (h + h);
        for (int j = 0; j < i; ++j) {
            double u = a[i * n + j];
            e[j] -= half * u;
            for (int k = 0; k <= j; ++k) a[j * n + k] -= u * e[k] + e[j] * a[i * n + k];
        }
        beside[(size_t)i * count + m] = g;
    }
    for (int i = 0; i < n; ++i) diagonal[(size_t)i * count + m] = a[i * n + i];
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
    const int n = 7, count = 528 * 64;
    double *matrices = uniform<double>(n * n * count, -1, 1), *diagonal = zeros<double>(n * count), *beside = zeros<double>(n * count);
    return report([&] { householder_tridiagonal<<<528, 64>>>(matrices, diagonal, beside, n, count); }, diagonal, n * count);
}
