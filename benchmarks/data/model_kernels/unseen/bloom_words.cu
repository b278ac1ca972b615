// A filter of 512 bits for each thread, filled and asked.
#include <algorithm>
#include <cstdio>
#include <vector>

__global__ void bloom_words(const unsigned *keys, int *out, int n, int count) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned bits[16] = {};
    for (int k = 0; k < count; ++k) {
        unsigned key = keys[k * n + t];
        for (int h = 0; h < 3; ++h) {
            unsigned at = key * (2654435761u + 2246822519u * h) >> 23;
            bits[at >> 5] |= 1u << (at & 31);
        }
    }
    int found = 0;
    for (int k = 0; k < 2 * count; ++k) {
        unsigned key = keys[(k % count) * n + t] + (k >= count);
        bool is_in = true;
        for (int h = 0; h < 3; ++h) {
            unsigned at = key * (2654435761u + 2246822519u * h) >> 23;
            is_in &= bits[at >> 5] >> (at & 31) & 1;
        }
        found += is_in;
    }
    out[t] = found;
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
    unsigned *k = uniform<unsigned>(24 * n, 1, 4.2e9);
    int *out = zeros<int>(n);
    return report([&] { bloom_words<<<1024, 128>>>(k, out, n, 24); }, out, n);
}
