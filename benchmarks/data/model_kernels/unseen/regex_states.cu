// Simulates a nondeterministic automaton, its states in two lists.
#include <algorithm>
#include <cstdio>
#include <vector>

__global__ void regex_states(const unsigned char *text, const unsigned char *moves, int *out, int n, int length) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned char now[24], next[24];
    int m = 1, hits = 0;
    now[0] = 0;
    for (int i = 0; i < length; ++i) {
        int c = text[i * n + t] & 3, k = 0;
        unsigned seen = 0;
        for (int j = 0; j < m; ++j)
            for (int e = 0; e < 2; ++e) {
                int to = moves[now[j] * 8 + c * 2 + e];
                if (to < 20 && !(seen >> to & 1)) { seen |= 1u << to; next[k++] = to; }
            }
        if (!(seen & 1)) next[k++] = 0;
        m = k;
        for (int j = 0; j < m; ++j) { now[j] = next[j]; hits += next[j] == 19; }
    }
    out[t] = hits;
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
    const int n = 512 * 128;
    unsigned char *x = uniform<unsigned char>(32 * n, 0, 4);
    unsigned char *m = uniform<unsigned char>(160, 0, 40);
    int *out = zeros<int>(n);
    return report([&] { regex_states<<<512, 128>>>(x, m, out, n, 32); }, out, n);
}
