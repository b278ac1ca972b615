// Alignment along diagonals, of which three take turns.
// In the manner of mgawan/ADEPT, adept/kernel.cpp.
#include <algorithm>
#include <cstdio>
#include <vector>

#define SIDE 20

__global__ void rotating_diagonals(const unsigned char *first, const unsigned char *second, int *scores, int pairs, int rows, int columns) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= pairs) return;
    int diagonal[3][SIDE + 1];
    for (int d = 0; d < 3; ++d)
        for (int i = 0; i <= SIDE; ++i) diagonal[d][i] = 0;
    int best = 0;
    for (int d = 2; d <= rows + columns; ++d) {
        int now = d % 3, before = (d + 2) % 3, earlier = (d + 1) % 3;
        for (int i = max(1, d - columns); i <= min(rows, d - 1); ++i) {
            int same = first[(i - 1) * pairs + t] == second[(d - i - 1) * pairs + t];
            int value = max(0, diagonal[earlier][i - 1] + (same ? 3 : -2));
            value = max(value, max(diagonal[before][i - 1], diagonal[before][i]) - 2);
            diagonal[now][i] = value;
            best = max(best, value);
        }
    }
    scores[t] = best;
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
    unsigned char *first = uniform<unsigned char>(20 * n, 0, 4), *second = uniform<unsigned char>(20 * n, 0, 4);
    int *scores = zeros<int>(n);
    return report([&] { rotating_diagonals<<<528, 128>>>(first, second, scores, n, 20, 20); }, scores, n);
}
