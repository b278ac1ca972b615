// A filter whose past samples stay in a ring; one channel for each thread.
// In the manner of kernrj/gsdr, IIR_Usage_Example.md.
#include <algorithm>
#include <cstdio>
#include <vector>

#define TAPS 32

__global__ void history_ring(const float *in, const float *coefficients, float *out, int channels, int samples) {
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c >= channels) return;
    float history[TAPS];
    for (int i = 0; i < TAPS; ++i) history[i] = 0.f;
    int head = 0;
    for (int i = 0; i < samples; ++i) {
        history[head] = in[(size_t)i * channels + c];
        float sum = 0.f;
        for (int k = 0; k < TAPS; ++k) sum += coefficients[k] * history[(head - k) & (TAPS - 1)];
        out[(size_t)i * channels + c] = sum;
        head = (head + 1) & (TAPS - 1);
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
    const int n = 132 * 128, samples = 128;
    float *in = uniform<float>((size_t)n * samples, -1, 1), *coefficients = uniform<float>(32, -1, 1), *out = zeros<float>((size_t)n * samples);
    return report([&] { history_ring<<<132, 128>>>(in, coefficients, out, n, samples); }, out, (size_t)n * samples);
}
