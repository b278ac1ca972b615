// Sums of residues by parameter of a Rice code, and the best parameter.
// In the manner of gchudov/cuetools.net, CUETools.Codecs.FlaCuda/FlaCudaWriter.cs.
#include <algorithm>
#include <cstdio>
#include <vector>

__global__ void rice_widths(const int *residues, int *best, int blocks, int length) {
    int b = blockIdx.x * blockDim.x + threadIdx.x;
    if (b >= blocks) return;
    int width[33];
    for (int i = 0; i < 33; ++i) width[i] = 0;
    for (int i = 0; i < length; ++i) {
        int value = residues[(size_t)i * blocks + b];
        unsigned folded = (unsigned)(value << 1 ^ value >> 31);
        ++width[32 - __clz(folded)];
    }
    int least = 1 << 30, at = 0;
    for (int k = 0; k < 15; ++k) {
        int bits = length * (k + 1);
        for (int w = k + 1; w < 33; ++w) bits += width[w] << min(w - k, 20);
        if (bits < least) {
            least = bits;
            at = k;
        }
    }
    best[b] = at;
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
    const int n = 1056 * 128, length = 48;
    std::vector<int> residue((size_t)n * length);
    for (int &one : residue) one = int((random_unit() - 0.5) * double(1 << int(4 + random_unit() * 12)));
    int *residues = on_device(residue), *best = zeros<int>(n);
    return report([&] { rice_widths<<<1056, 128>>>(residues, best, n, length); }, best, n);
}
