// Calls by a small tree in double precision; each thread has its number of steps.
// In the manner of edrend/bionamialOptions, readme.txt.
#include <algorithm>
#include <cstdio>
#include <vector>

__global__ void call_tree_double(const double *spots, const int *lengths, double *price, int options) {
    int o = blockIdx.x * blockDim.x + threadIdx.x;
    if (o >= options) return;
    double call[17];
    int steps = lengths[o];
    double spot = spots[o], up = 1.0 + 0.2 / steps, down = 1.0 - 0.19 / steps, leaf = spot;
    for (int i = 0; i < steps; ++i) leaf *= down;
    for (int i = 0; i <= steps; ++i) {
        call[i] = leaf > 100.0 ? leaf - 100.0 : 0.0;
        leaf *= up / down;
    }
    for (int i = steps; i > 0; --i)
        for (int j = 0; j < i; ++j) call[j] = 0.51 * call[j + 1] + 0.485 * call[j];
    price[o] = call[0];
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
    const int n = 264 * 128;
    double *spots = uniform<double>(n, 80, 120), *price = zeros<double>(n);
    int *lengths = uniform<int>(n, 6, 17);
    return report([&] { call_tree_double<<<264, 128>>>(spots, lengths, price, n); }, price, n);
}
