// Metropolis sweeps of a small frustrated lattice in each thread.
// In the manner of msemjan/MC_MA_IAKL, README.md.
#include <algorithm>
#include <cstdio>
#include <vector>

#define SPINS 48

__global__ void kagome_sweeps(const unsigned char *neighbours, float *energies, int replicas, int sweeps, float beta) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= replicas) return;
    signed char spin[SPINS];
    unsigned state = 362437u * (r + 1);
    for (int s = 0; s < SPINS; ++s) spin[s] = (s * 7 + r) & 1 ? 1 : -1;
    int energy = 0;
    for (int sweep = 0; sweep < sweeps; ++sweep)
        for (int s = 0; s < SPINS; ++s) {
            int around = 0;
            for (int k = 0; k < 4; ++k) around += spin[neighbours[4 * s + k]];
            int change = -2 * spin[s] * around;
            state = state * 1664525u + 1013904223u;
            if (change <= 0 || (state >> 8) * 5.96e-8f < __expf(-beta * change)) {
                spin[s] = -spin[s];
                energy += change;
            }
        }
    energies[r] = energy;
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
    const int n = 528 * 64;
    unsigned char *neighbours = uniform<unsigned char>(4 * 48, 0, 48);
    float *energies = zeros<float>(n);
    return report([&] { kagome_sweeps<<<528, 64>>>(neighbours, energies, n, 10, 0.4f); }, energies, n);
}
