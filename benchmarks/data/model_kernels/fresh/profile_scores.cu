// Scores of two profiles by a matrix of 5 by 5 letters that each thread copies.
// In the manner of TurakhiaLab/TWILIGHT, src/align.cu.
#include <algorithm>
#include <cstdio>
#include <vector>

__global__ void profile_scores(const unsigned char *reference, const unsigned char *query, const float *parameters, float *best, int pairs, int length) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= pairs) return;
    float score[25];
    for (int i = 0; i < 25; ++i) score[i] = parameters[i];
    float open = parameters[25], run = 0.f, most = 0.f;
    for (int i = 0; i < length; ++i) {
        int r = reference[(size_t)i * pairs + t], q = query[(size_t)i * pairs + t];
        float gained = score[5 * r + q];
        run = fmaxf(run + gained, gained < 0.f ? run + open : 0.f);
        most = fmaxf(most, run);
    }
    best[t] = most;
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
    const int n = 1024 * 256, length = 64;
    unsigned char *reference = uniform<unsigned char>((size_t)n * length, 0, 5), *query = uniform<unsigned char>((size_t)n * length, 0, 5);
    float *parameters = uniform<float>(26, -2, 3), *best = zeros<float>(n);
    return report([&] { profile_scores<<<1024, 256>>>(reference, query, parameters, best, n, length); }, best, n);
}
