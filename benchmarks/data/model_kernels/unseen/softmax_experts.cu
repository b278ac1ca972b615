// Chooses the best two of experts for a token, marks them, and weighs them.
#include <algorithm>
#include <cstdio>
#include <vector>

__global__ void softmax_experts(const float *logits, int *chosen, float *weight, int n, int experts, int top) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    float p[16];
    for (int e = 0; e < experts; ++e) p[e] = logits[e * n + t];
    float sum = 0.f;
    for (int k = 0; k < top; ++k) {
        int best = 0;
        for (int e = 1; e < experts; ++e)
            if (p[e] > p[best]) best = e;
        float w = __expf(p[best]);
        p[best] = -1e30f;
        chosen[k * n + t] = best;
        weight[k * n + t] = w;
        sum += w;
    }
    for (int k = 0; k < top; ++k) weight[k * n + t] /= sum;
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
    float *l = uniform<float>(16 * n, -2, 2);
    int *c = zeros<int>(4 * n);
    float *out = zeros<float>(4 * n);
    return report([&] { softmax_experts<<<4096, 128>>>(l, c, out, n, 16, 4); }, out, 4 * n);
}
