// Sweeps over a cluster of spins kept as signed bytes, neighbours by index.
#include <algorithm>
#include <cstdio>
#include <vector>

__global__ void spin_glass_sweep(const unsigned *seeds, const float *coupling, int *energy, int n, int sweeps) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    signed char spin[32];
    unsigned r = seeds[t];
    for (int i = 0; i < 32; ++i) spin[i] = r >> i & 1 ? 1 : -1;
    for (int s = 0; s < sweeps; ++s)
        for (int k = 0; k < 32; ++k) {
            r = r * 1664525u + 1013904223u;
            int i = r >> 27;
            float field = coupling[i] * spin[(i + 1) & 31] + coupling[i ^ 1] * spin[(i + 31) & 31] + .2f * spin[(i * 5 + 3) & 31];
            if (field * spin[i] < (r >> 8 & 1023) * .001f) spin[i] = -spin[i];
        }
    int sum = 0;
    for (int i = 0; i < 32; ++i) sum += spin[i] * spin[(i + 1) & 31];
    energy[t] = sum;
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
    float *c = uniform<float>(32, -1, 1);
    int *out = zeros<int>(n);
    return report([&] { spin_glass_sweep<<<1024, 128>>>(s, c, out, n, 10); }, out, n);
}
