// Recursive smoothing along lines by poles that come by value; a copy of them is changed.
// In the manner of balbasty/jitfields, jitfields/csrc/splinc.cu.
#include <algorithm>
#include <cstdio>
#include <vector>

struct Poles {
    float pole[8];
    float gain;
    int count;
};

__global__ void poles_by_value(Poles poles, const float *in, float *out, int lines, int length) {
    int l = blockIdx.x * blockDim.x + threadIdx.x;
    if (l >= lines) return;
    float gain = 1.f;
    for (int p = 0; p < poles.count; ++p) {
        if (l & 1) poles.pole[p] *= 0.98f;
        gain *= (1.f - poles.pole[p]) * poles.gain;
    }
    float state[8] = {};
    for (int i = 0; i < length; ++i) {
        float value = gain * in[(size_t)i * lines + l];
        for (int p = 0; p < poles.count; ++p) {
            state[p] = value + poles.pole[p] * state[p];
            value = state[p];
        }
        out[(size_t)i * lines + l] = value;
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
    const int n = 264 * 128, length = 64;
    Poles poles = {{0.2f, 0.25f, 0.3f, 0.1f, 0.15f, 0.35f, 0.05f, 0.4f}, 1.1f, 7};
    float *in = uniform<float>((size_t)n * length, 0, 1), *out = zeros<float>((size_t)n * length);
    return report([&] { poles_by_value<<<264, 128>>>(poles, in, out, n, length); }, out, (size_t)n * length);
}
