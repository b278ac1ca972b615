// A collision over 19 directions in registers, with bounds that leave 32 of them.
// In the manner of Xinhuan-Imperial/Lattice-Boltzmann-Method-GPU, coronary_cfd/coronanry.cu.
#include <algorithm>
#include <cstdio>
#include <vector>

__global__ void __launch_bounds__(1024, 2) capped_directions(const float *in, float *out, int cells, float omega) {
    int cell = blockIdx.x * blockDim.x + threadIdx.x;
    if (cell >= cells) return;
    float f[19], density = 0.f;
#pragma unroll
    for (int d = 0; d < 19; ++d) {
        f[d] = in[d * cells + cell];
        density += f[d];
    }
    float ux = (f[1] - f[2] + f[7] - f[8] + f[9] - f[10] + f[11] - f[12] + f[13] - f[14]) / density;
    float uy = (f[3] - f[4] + f[7] - f[8] - f[9] + f[10] + f[15] - f[16] + f[17] - f[18]) / density;
    float uz = (f[5] - f[6] + f[11] - f[12] - f[13] + f[14] + f[15] - f[16] - f[17] + f[18]) / density;
    float square = 1.5f * (ux * ux + uy * uy + uz * uz), stress = 0.f;
#pragma unroll
    for (int d = 0; d < 19; ++d) {
        float along = d == 0 ? 0.f : (d & 1 ? 1.f : -1.f) * (d < 3 ? ux : d < 5 ? uy : d < 7 ? uz : d < 11 ? ux + uy : d < 15 ? ux + uz : uy + uz);
        float weight = d == 0 ? 1.f / 3 : d < 7 ? 1.f / 18 : 1.f / 36;
        float wrong = f[d] - weight * density * (1.f + 3.f * along + 4.5f * along * along - square);
        stress += wrong * wrong;
        f[d] -= omega * wrong;
    }
    float damping = 1.f / (1.f + sqrtf(stress));
#pragma unroll
    for (int d = 0; d < 19; ++d) out[d * cells + cell] = f[d] * damping + (d ? f[19 - d] : f[0]) * (1.f - damping);
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
    const int n = 1056 * 1024;
    float *in = uniform<float>(19 * n, 0.5f, 1), *out = zeros<float>(19 * n);
    return report([&] { capped_directions<<<1056, 1024>>>(in, out, n, 1.4f); }, out, 19 * n);
}
