// A banded affine alignment, three scores for each place of the band.
#include <algorithm>
#include <cstdio>
#include <vector>

struct Cell { short match, insert, gap; };
__global__ void banded_alignment(const unsigned char *query, const unsigned char *target, int *out, int n, int length, int band) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    Cell row[17];
    for (int j = 0; j <= band; ++j) row[j] = {short(-2 * j), -999, -999};
    int best = 0;
    for (int i = 0; i < length; ++i) {
        unsigned char c = query[i * n + t];
        Cell left = {-999, -999, -999};
        for (int j = 0; j < band; ++j) {
            Cell diagonal = row[j], above = row[j + 1], now;
            int score = c == target[(i + j) % length * n + t] ? 2 : -3;
            now.match = max(max(diagonal.match, diagonal.insert), diagonal.gap) + score;
            now.insert = max(above.match - 5, above.insert - 1);
            now.gap = max(left.match - 5, left.gap - 1);
            row[j] = left = now;
            best = max(best, int(now.match));
        }
    }
    out[t] = best;
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
    unsigned char *a = uniform<unsigned char>(48 * n, 0, 4);
    unsigned char *b = uniform<unsigned char>(48 * n, 0, 4);
    int *out = zeros<int>(n);
    return report([&] { banded_alignment<<<512, 128>>>(a, b, out, n, 48, 16); }, out, n);
}
