// Walks of the fifteen puzzle, the board a permutation of bytes.
#include <algorithm>
#include <cstdio>
#include <vector>

__global__ void sliding_tiles(const unsigned *seeds, int *out, int n, int moves) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned char tile[16];
    for (int i = 0; i < 16; ++i) tile[i] = i;
    unsigned r = seeds[t];
    int hole = 0;
    for (int m = 0; m < moves; ++m) {
        r = r * 1664525u + 1013904223u;
        int d = r >> 30, x = hole & 3, y = hole >> 2;
        int to = d == 0 && x < 3 ? hole + 1 : d == 1 && x > 0 ? hole - 1 : d == 2 && y < 3 ? hole + 4 : d == 3 && y > 0 ? hole - 4 : hole;
        tile[hole] = tile[to];
        tile[to] = 0;
        hole = to;
    }
    int far = 0;
    for (int i = 0; i < 16; ++i) far += abs((tile[i] & 3) - (i & 3)) + abs((tile[i] >> 2) - (i >> 2));
    out[t] = far;
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
    const int n = 1024 * 128;
    unsigned *s = uniform<unsigned>(n, 1, 4e9);
    int *out = zeros<int>(n);
    return report([&] { sliding_tiles<<<1024, 128>>>(s, out, n, 200); }, out, n);
}
