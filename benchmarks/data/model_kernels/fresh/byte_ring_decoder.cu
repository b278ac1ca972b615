// Decodes runs and literals from a stream of words, through a ring of bytes.
// In the manner of illinois-impact/codag, include/rlev2/decoder_trans.h.
#include <algorithm>
#include <cstdio>
#include <vector>

#define RING 32

__global__ void byte_ring_decoder(const unsigned *in, int *sums, int columns, int words) {
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c >= columns) return;
    unsigned char ring[RING];
    int head = 0, tail = 0, filled = 0, word = 0, sum = 0, output = 0;
    while (word < words || filled > 1) {
        while (filled <= RING - 4 && word < words) {
            unsigned four = in[(size_t)word++ * columns + c];
            for (int b = 0; b < 4; ++b) {
                ring[tail] = (unsigned char)(four >> (8 * b));
                tail = (tail + 1) % RING;
            }
            filled += 4;
        }
        int control = ring[head];
        head = (head + 1) % RING;
        --filled;
        if (control & 128) {
            int length = (control & 15) + 3, value = ring[head];
            head = (head + 1) % RING;
            --filled;
            sum += length * value + output;
            output += length;
        } else {
            int length = min((control & 7) + 1, filled);
            for (int i = 0; i < length; ++i) {
                sum += ring[head] ^ output++;
                head = (head + 1) % RING;
            }
            filled -= length;
        }
    }
    sums[c] = sum;
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
    const int n = 528 * 128, words = 24;
    unsigned *in = uniform<unsigned>((size_t)words * n, 0, 4294967295u);
    int *sums = zeros<int>(n);
    return report([&] { byte_ring_decoder<<<528, 128>>>(in, sums, n, words); }, sums, n);
}
