// American puts by a binomial tree that is folded in place; the number of steps is an argument.
// In the manner of brianshen03/MonteCarloOptionPricer, README.md.
#include <algorithm>
#include <cstdio>
#include <vector>

#define MOST 64

__global__ void american_put_tree(const float *spots, const float *strikes, float *price, int options, int steps, float volatility, float rate) {
    int o = blockIdx.x * blockDim.x + threadIdx.x;
    if (o >= options) return;
    float value[MOST + 1];
    float spot = spots[o], strike = strikes[o], dt = 1.f / steps;
    float up = expf(volatility * sqrtf(dt)), down = 1.f / up, discount = expf(-rate * dt);
    float p = (1.f / discount - down) / (up - down);
    float at = spot * powf(down, (float)steps), twice = up * up;
    for (int i = 0; i <= steps; ++i, at *= twice) value[i] = fmaxf(strike - at, 0.f);
    for (int step = steps - 1; step >= 0; --step) {
        float now = spot * powf(down, (float)step);
        for (int i = 0; i <= step; ++i, now *= twice)
            value[i] = fmaxf(strike - now, discount * (p * value[i + 1] + (1.f - p) * value[i]));
    }
    price[o] = value[0];
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
    const int n = 528 * 64;
    float *spots = uniform<float>(n, 80, 120), *strikes = uniform<float>(n, 80, 120), *price = zeros<float>(n);
    return report([&] { american_put_tree<<<528, 64>>>(spots, strikes, price, n, 48, 0.3f, 0.05f); }, price, n);
}
