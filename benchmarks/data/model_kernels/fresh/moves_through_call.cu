// A game of random moves; a function that is not inlined fills the list of moves.
// In the manner of chefxxx/MCTS-checkers, README.md.
#include <algorithm>
#include <cstdio>
#include <vector>

__noinline__ __device__ int list_moves(unsigned own, unsigned other, unsigned char *from, unsigned char *to) {
    int n = 0;
    unsigned empty = ~(own | other);
    for (unsigned rest = own; rest && n < 30; rest &= rest - 1) {
        int place = __ffs(rest) - 1;
        if (empty >> ((place + 4) & 31) & 1) from[n] = (unsigned char)place, to[n++] = (unsigned char)((place + 4) & 31);
        if (empty >> ((place + 5) & 31) & 1) from[n] = (unsigned char)place, to[n++] = (unsigned char)((place + 5) & 31);
    }
    return n;
}

__global__ void moves_through_call(const uint2 *starts, unsigned *ends, int games, int turns) {
    int g = blockIdx.x * blockDim.x + threadIdx.x;
    if (g >= games) return;
    unsigned own = starts[g].x, other = starts[g].y & ~own, state = 40503u * (g + 7);
    unsigned char from[32], to[32];
    for (int turn = 0; turn < turns; ++turn) {
        int n = list_moves(own, other, from, to);
        if (!n) break;
        state = state * 1664525u + 1013904223u;
        int pick = (state >> 12) % n;
        unsigned moved = (own & ~(1u << from[pick])) | 1u << to[pick];
        own = other & ~moved;
        other = moved;
    }
    ends[g] = own ^ other;
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
    const int n = 528 * 128;
    uint2 *starts = (uint2 *)uniform<unsigned>(2 * n, 0, 4294967295u);
    unsigned *ends = zeros<unsigned>(n);
    return report([&] { moves_through_call<<<528, 128>>>(starts, ends, n, 24); }, ends, n);
}
