// Relaxes the moments of nine directions by a matrix that is a local table.
// In the manner of OPM/LBPM, cuda/D3Q19.cu.
#include <algorithm>
#include <cstdio>
#include <vector>

__global__ void moment_relaxation(const double *in, double *out, int cells, const double *speeds, int moments) {
    int cell = blockIdx.x * blockDim.x + threadIdx.x;
    if (cell >= cells) return;
    const double transform[81] = {1, 1, 1, 1, 1, 1, 1, 1, 1, -4, -1, -1, -1, -1, 2, 2, 2, 2, 4, -2, -2, -2, -2, 1, 1, 1, 1,
                                  0, 1, 0, -1, 0, 1, -1, -1, 1, 0, -2, 0, 2, 0, 1, -1, -1, 1, 0, 0, 1, 0, -1, 1, 1, -1, -1,
                                  0, 0, -2, 0, 2, 1, 1, -1, -1, 0, 1, -1, 1, -1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, -1, 1, -1};
    double f[9];
    for (int d = 0; d < 9; ++d) f[d] = in[d * cells + cell];
    for (int m = 0; m < moments; ++m) {
        double moment = 0, norm = 0;
        for (int d = 0; d < 9; ++d) {
            moment += transform[9 * m + d] * f[d];
            norm += transform[9 * m + d] * transform[9 * m + d];
        }
        double change = speeds[m] * moment / norm;
        for (int d = 0; d < 9; ++d) f[d] -= transform[9 * m + d] * change;
    }
    for (int d = 0; d < 9; ++d) out[d * cells + cell] = f[d];
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
    const int n = 1056 * 128;
    double *in = uniform<double>(9 * n, 0, 1), *out = zeros<double>(9 * n), *speeds = uniform<double>(9, 0, 1);
    return report([&] { moment_relaxation<<<1056, 128>>>(in, out, n, speeds, 9); }, out, 9 * n);
}
