// Lists all moves of a position, then takes one of them.
// In the manner of FreePlacki/cuda-checkers, docs/final.typ.
#include <algorithm>
#include <cstdio>
#include <vector>

__global__ void checkers_moves(const uint2 *positions, unsigned *chosen, int count) {
    int p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= count) return;
    unsigned own = positions[p].x, other = positions[p].y & ~own, empty = ~(own | other);
    unsigned moves[48];
    int n = 0;
    for (unsigned rest = own; rest; rest &= rest - 1) {
        unsigned from = rest & -rest;
        unsigned ahead = __funnelshift_l(from, from, 1), across = __funnelshift_l(from, from, 7);
        if (ahead & empty && n < 48) moves[n++] = from | ahead;
        if (across & empty && n < 48) moves[n++] = from | across;
        unsigned jump = __funnelshift_l(from, from, 2), leap = __funnelshift_l(from, from, 14);
        if (ahead & other && jump & empty && n < 48) moves[n++] = from | ahead | jump;
        if (across & other && leap & empty && n < 48) moves[n++] = from | across | leap;
    }
    chosen[p] = n ? moves[(own * 2654435761u >> 8) % n] : 0;
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
    const int n = 1024 * 256;
    uint2 *positions = (uint2 *)uniform<unsigned>(2 * n, 0, 4294967295u);
    unsigned *chosen = zeros<unsigned>(n);
    return report([&] { checkers_moves<<<1024, 256>>>(positions, chosen, n); }, chosen, n);
}
