// Counts the ways to finish a started board of queens, with four stacks in place of recursion.
// In the manner of olepoeschl/NQueensFAF, src/main/resources/test_kernels_3.c.
#include <algorithm>
#include <cstdio>
#include <vector>

#define ROWS 12

__global__ void queens_constellations(const uint3 *starts, unsigned long long *solutions, int count, int rows) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= count) return;
    unsigned left[ROWS + 1], right[ROWS + 1], taken[ROWS + 1], open[ROWS + 1];
    const unsigned all = (1u << rows) - 1;
    const int first = 4;
    int row = first;
    left[row] = starts[t].x & all;
    right[row] = starts[t].y & all;
    taken[row] = starts[t].z & all;
    open[row] = ~(left[row] | right[row] | taken[row]) & all;
    unsigned long long found = 0;
    while (row >= first) {
        if (open[row]) {
            unsigned queen = open[row] & -open[row];
            open[row] ^= queen;
            unsigned l = (left[row] | queen) << 1, r = (right[row] | queen) >> 1, c = taken[row] | queen;
            if (row + 1 == rows) {
                ++found;
            } else {
                ++row;
                left[row] = l;
                right[row] = r;
                taken[row] = c;
                open[row] = ~(l | r | c) & all;
            }
        } else {
            --row;
        }
    }
    solutions[t] = found;
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
    const int n = 528 * 64, rows = 12;
    std::vector<uint3> starts(n);
    for (uint3 &one : starts) {
        unsigned left = 0, right = 0, taken = 0;
        for (int row = 0; row < 4; ++row) {
            unsigned open = ~(left | right | taken) & 0xfff;
            if (!open) break;
            for (int skip = int(random_unit() * __builtin_popcount(open)); skip > 0; --skip) open &= open - 1;
            unsigned queen = open & -open;
            left = (left | queen) << 1, right = (right | queen) >> 1, taken |= queen;
        }
        one = make_uint3(left, right, taken);
    }
    uint3 *in = on_device(starts);
    unsigned long long *out = zeros<unsigned long long>(n);
    return report([&] { queens_constellations<<<528, 64>>>(in, out, n, rows); }, out, n);
}
