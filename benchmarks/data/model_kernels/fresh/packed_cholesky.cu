// Factors small symmetric systems and solves them, the triangle packed.
// In the manner of peterdschwartz/Projects, cuda/chol_kernel.cu.
#include <algorithm>
#include <cstdio>
#include <vector>

#define MOST 9

__global__ void packed_cholesky(const float *matrices, const float *right, float *solution, int batch, int n) {
    int m = blockIdx.x * blockDim.x + threadIdx.x;
    if (m >= batch) return;
    float a[MOST * (MOST + 1) / 2], x[MOST];
    for (int i = 0; i < n * (n + 1) / 2; ++i) a[i] = matrices[i * batch + m];
    for (int k = 0; k < n; ++k) {
        int kk = k * (k + 1) / 2 + k;
        float pivot = rsqrtf(a[kk]);
        a[kk] = pivot;
        for (int i = k + 1; i < n; ++i) a[i * (i + 1) / 2 + k] *= pivot;
        for (int j = k + 1; j < n; ++j)
            for (int i = j; i < n; ++i) a[i * (i + 1) / 2 + j] -= a[i * (i + 1) / 2 + k] * a[j * (j + 1) / 2 + k];
    }
    for (int i = 0; i < n; ++i) {
        float sum = right[i * batch + m];
        for (int j = 0; j < i; ++j) sum -= a[i * (i + 1) / 2 + j] * x[j];
        x[i] = sum * a[i * (i + 1) / 2 + i];
    }
    for (int i = n - 1; i >= 0; --i) {
        float sum = x[i];
        for (int j = i + 1; j < n; ++j) sum -= a[j * (j + 1) / 2 + i] * x[j];
        x[i] = sum * a[i * (i + 1) / 2 + i];
        solution[i * batch + m] = x[i];
    }
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
    std::vector<float> packed(45 * n);
    for (int i = 0, at = 0; i < 9; ++i)
        for (int j = 0; j <= i; ++j, ++at)
            for (int m = 0; m < n; ++m) packed[at * n + m] = (i == j ? 9.f : 0.f) + float(random_unit());
    float *matrices = on_device(packed), *right = uniform<float>(9 * n, 0, 1), *solution = zeros<float>(9 * n);
    return report([&] { packed_cholesky<<<2112, 64>>>(matrices, right, solution, n, 8); }, solution, 8 * n);
}
