// Roots of a locator: each term is kept and multiplied by its power at each place.
// In the manner of soulsheng/datvexpress_gui, fec/bch_bm_decode.cuh.
#include <algorithm>
#include <cstdio>
#include <vector>

__global__ void chien_terms(const unsigned short *lambda, int *places, int words, int degree, int length) {
    int w = blockIdx.x * blockDim.x + threadIdx.x;
    if (w >= words) return;
    unsigned term[13];
    for (int i = 1; i <= degree; ++i) term[i] = lambda[i * words + w];
    int found = 0, sum = 0;
    for (int place = 0; place < length; ++place) {
        unsigned value = 1;
        for (int i = 1; i <= degree; ++i) {
            value ^= term[i];
            unsigned next = term[i];
            for (int k = 0; k < (i & 3) + 1; ++k) next = next & 0x8000 ? (next << 1 ^ 0x1002d) & 0xffff : next << 1;
            term[i] = next;
        }
        if ((value & 0x3f) == 0) {
            ++found;
            sum += place;
        }
    }
    places[w] = found * 100000 + sum;
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
    unsigned short *lambda = uniform<unsigned short>(13 * n, 0, 65535);
    int *places = zeros<int>(n);
    return report([&] { chien_terms<<<528, 128>>>(lambda, places, n, 12, 120); }, places, n);
}
