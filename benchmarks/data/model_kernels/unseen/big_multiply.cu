// Products of numbers of run-time length in limbs, by school.
#include <algorithm>
#include <cstdio>
#include <vector>

__global__ void big_multiply(const unsigned *a, const unsigned *b, unsigned *out, int n, int limbs) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned x[16], r[32];
    for (int i = 0; i < limbs; ++i) x[i] = a[i * n + t];
    for (int i = 0; i < 2 * limbs; ++i) r[i] = 0;
    for (int j = 0; j < limbs; ++j) {
        unsigned long long carry = 0;
        unsigned y = b[j * n + t];
        for (int i = 0; i < limbs; ++i) {
            carry += (unsigned long long) x[i] * y + r[i + j];
            r[i + j] = carry;
            carry >>= 32;
        }
        r[j + limbs] = carry;
    }
    for (int i = 0; i < 2 * limbs; ++i) out[i * n + t] = r[i];
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
    unsigned *a = uniform<unsigned>(16 * n, 0, 4.2e9);
    unsigned *b = uniform<unsigned>(16 * n, 0, 4.2e9);
    unsigned *out = zeros<unsigned>(32 * n);
    return report([&] { big_multiply<<<1024, 128>>>(a, b, out, n, 16); }, out, 32 * n);
}
