// Invariants of a strain tensor in Voigt order; the order is a table.
#include <algorithm>
#include <cstdio>
#include <vector>

__global__ void tensor_invariants(const float *strain, const float *stiffness, float *out, int n) {
    const int voigt[3][3] = {{0, 5, 4}, {5, 1, 3}, {4, 3, 2}};
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    float e[6], s[6];
    for (int i = 0; i < 6; ++i) e[i] = strain[i * n + t];
    for (int i = 0; i < 6; ++i) {
        s[i] = 0.f;
        for (int j = 0; j < 6; ++j) s[i] += stiffness[i * 6 + j] * e[j];
    }
    float j2 = 0.f, j3 = 0.f;
    #pragma unroll 1
    for (int a = 0; a < 3; ++a)
        #pragma unroll 1
        for (int b = 0; b < 3; ++b) {
            j2 += s[voigt[a][b]] * s[voigt[b][a]];
            for (int c = 0; c < 3; ++c) j3 += s[voigt[a][b]] * s[voigt[b][c]] * s[voigt[c][a]];
        }
    out[t] = sqrtf(j2) + j3;
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
    float *e = uniform<float>(6 * n, -1, 1);
    float *c = uniform<float>(36, 0, 1);
    float *out = zeros<float>(n);
    return report([&] { tensor_invariants<<<4096, 128>>>(e, c, out, n); }, out, n);
}
