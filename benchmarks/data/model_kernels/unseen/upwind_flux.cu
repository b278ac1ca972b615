// Fluxes of five conserved quantities with a reconstruction chosen by direction.
#include <algorithm>
#include <cstdio>
#include <vector>

__global__ void upwind_flux(const float *state, const unsigned char *side, float *flux, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x + 3;
    if (i >= n - 3) return;
    float u[5][6], f[5];
    for (int q = 0; q < 5; ++q)
        for (int s = 0; s < 6; ++s) u[q][s] = state[q * n + i + s - 3];
    float speed = u[1][2] / u[0][2] + u[1][3] / u[0][3];
    int up = 1 + side[i];
    for (int q = 0; q < 5; ++q) {
        float left = u[q][up] - u[q][up - 1], right = u[q][up + 1] - u[q][up];
        float slope = left * right > 0 ? 2 * left * right / (left + right) : 0.f;
        f[q] = u[q][up] + (speed > 0 ? .5f : -.5f) * slope;
    }
    float p = .4f * (f[4] - .5f * (f[1] * f[1] + f[2] * f[2] + f[3] * f[3]) / f[0]);
    for (int q = 0; q < 5; ++q) flux[q * n + i] = f[q] * speed + (q == 1 ? p : 0.f);
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
    const int n = 8192 * 128;
    float *s = uniform<float>(5 * n, .5f, 2);
    unsigned char *d = uniform<unsigned char>(n, 0, 4);
    float *out = zeros<float>(5 * n);
    return report([&] { upwind_flux<<<8192, 128>>>(s, d, out, n); }, out, 5 * n);
}
