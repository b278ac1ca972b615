// Cliques of a given size around a vertex: a stack of sets of candidates, 32 vertices each.
// In the manner of kuben-joz/k_clique, todo.md.
#include <algorithm>
#include <cstdio>
#include <vector>

#define DEEPEST 12

__global__ void clique_masks(const unsigned *adjacency, unsigned *counts, int graphs, int size) {
    int g = blockIdx.x * blockDim.x + threadIdx.x;
    if (g >= graphs) return;
    const unsigned *near = adjacency + 32 * (size_t)g;
    unsigned open[DEEPEST];
    int level = 0;
    open[0] = 0xffffffffu;
    unsigned found = 0;
    while (level >= 0) {
        unsigned rest = open[level];
        if (!rest || level + __popc(rest) < size) {
            --level;
            continue;
        }
        int vertex = __ffs(rest) - 1;
        open[level] = rest & (rest - 1);
        unsigned next = open[level] & near[vertex];
        if (level + 2 == size) {
            found += __popc(next);
        } else {
            open[++level] = next;
        }
    }
    counts[g] = found;
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
    const int n = 1056 * 64;
    unsigned *adjacency = uniform<unsigned>((size_t)32 * n, 0, 4294967295u), *counts = zeros<unsigned>(n);
    return report([&] { clique_masks<<<1056, 64>>>(adjacency, counts, n, 5); }, counts, n);
}
