// Forces of a constraint on a chain whose links are solved by substitution in doubles.
#include <algorithm>
#include <cstdio>
#include <vector>

__global__ void lagrange_forces(const double *length, double *force, int n, int links) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    double upper[40], right[40];
    double b = 2.0 + length[t];
    upper[0] = -.5 / b;
    right[0] = length[n + t] / b;
    for (int i = 1; i < links; ++i) {
        double m = 1. / (b + .5 * upper[i - 1]);
        upper[i] = -.5 * m;
        right[i] = (length[(i & 7) * n + t] + .5 * right[i - 1]) * m;
    }
    double x = right[links - 1], sum = x;
    for (int i = links - 2; i >= 0; --i) {
        x = right[i] - upper[i] * x;
        sum += x;
    }
    force[t] = sum;
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
    double *l = uniform<double>(8 * n, .5, 1.5);
    double *out = zeros<double>(n);
    return report([&] { lagrange_forces<<<1024, 128>>>(l, out, n, 36); }, out, n);
}
