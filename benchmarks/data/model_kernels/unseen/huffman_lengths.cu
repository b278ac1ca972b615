// Decodes lengths by counts and offsets that each block of data has for itself.
#include <algorithm>
#include <cstdio>
#include <vector>

__global__ void huffman_lengths(const unsigned char *lengths, const unsigned *bits, int *out, int n, int words) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned short count[16] = {}, first[16], offset[16];
    unsigned char symbol[32];
    for (int s = 0; s < 32; ++s) ++count[lengths[s * n + t]];
    count[0] = 0;
    int code = 0, sum = 0;
    for (int l = 1; l < 16; ++l) {
        code = (code + count[l - 1]) << 1;
        first[l] = code;
        offset[l] = sum;
        sum += count[l];
    }
    unsigned short next[16];
    for (int l = 0; l < 16; ++l) next[l] = l ? offset[l] : 0;
    for (int s = 0; s < 32; ++s)
        if (int l = lengths[s * n + t]) symbol[next[l]++] = s;
    int found = 0, value = 0, length = 0;
    for (int w = 0; w < words; ++w) {
        unsigned b = bits[w * n + t];
        for (int k = 0; k < 32; ++k) {
            value = value << 1 | (b >> k & 1);
            ++length;
            int d = value - first[length];
            if (d >= 0 && d < count[length]) { found = found * 33 + symbol[offset[length] + d]; value = length = 0; }
            else if (length == 15) value = length = 0;
        }
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
    const int n = 512 * 128;
    unsigned char *l = uniform<unsigned char>(32 * n, 3, 9);
    unsigned *b = uniform<unsigned>(8 * n, 0, 4.2e9);
    int *out = zeros<int>(n);
    return report([&] { huffman_lengths<<<512, 128>>>(l, b, out, n, 8); }, out, n);
}
