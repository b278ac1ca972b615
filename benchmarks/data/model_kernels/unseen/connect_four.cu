// Random games on columns of bytes until one side has a row.
#include <algorithm>
#include <cstdio>
#include <vector>

__global__ void connect_four(const unsigned *seeds, int *wins, int n, int games) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned r = seeds[t];
    int found = 0;
    for (int g = 0; g < games; ++g) {
        signed char board[42] = {};
        signed char height[7] = {};
        for (int move = 0; move < 42; ++move) {
            r = r * 1664525u + 1013904223u;
            int c = (r >> 16) % 7;
            while (height[c] == 6) c = (c + 1) % 7;
            int side = move & 1 ? -1 : 1, row = height[c]++;
            board[row * 7 + c] = side;
            int line = 1;
            for (int k = c - 1; k >= 0 && board[row * 7 + k] == side; --k) ++line;
            for (int k = c + 1; k < 7 && board[row * 7 + k] == side; ++k) ++line;
            int column = 1;
            for (int k = row - 1; k >= 0 && board[k * 7 + c] == side; --k) ++column;
            if (line > 3 || column > 3) { found += side; break; }
        }
    }
    wins[t] = found;
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
    unsigned *s = uniform<unsigned>(n, 1, 4e9);
    int *out = zeros<int>(n);
    return report([&] { connect_four<<<512, 128>>>(s, out, n, 4); }, out, n);
}
