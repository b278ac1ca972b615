// Neighbours of a particle, listed first, then read for density and for pressure.
// In the manner of DonDracula/OpenGL_projects, rx_pbf(PositionBaseFluid)/src/rx_pbf/rx_mc_kernel.cu.
#include <algorithm>
#include <cstdio>
#include <vector>

#define MOST 40

__global__ void neighbour_lists(const float4 *particles, float *pressure, int count, int near, float radius) {
    int p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= count) return;
    float4 own = particles[p];
    int listed[MOST], n = 0;
    for (int o = max(0, p - near); o < min(count, p + near); ++o) {
        float4 other = particles[o];
        float dx = other.x - own.x, dy = other.y - own.y, dz = other.z - own.z;
        if (dx * dx + dy * dy + dz * dz < radius && n < MOST) listed[n++] = o;
    }
    float density = 0.f;
    for (int i = 0; i < n; ++i) {
        float4 other = particles[listed[i]];
        float dx = other.x - own.x, dy = other.y - own.y, dz = other.z - own.z;
        float w = radius - (dx * dx + dy * dy + dz * dz);
        density += other.w * w * w * w;
    }
    float force = 0.f;
    for (int i = 0; i < n; ++i) {
        float4 other = particles[listed[i]];
        force += (density - other.w) * rsqrtf(1e-3f + fabsf(other.x - own.x));
    }
    pressure[p] = force;
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
    float4 *particles = (float4 *)uniform<float>(4 * n, 0, 1);
    float *pressure = zeros<float>(n);
    return report([&] { neighbour_lists<<<512, 128>>>(particles, pressure, n, 64, 0.2f); }, pressure, n);
}
