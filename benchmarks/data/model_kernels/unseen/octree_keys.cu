// Descends eight levels of an octree, remembering the path.
#include <algorithm>
#include <cstdio>
#include <vector>

__global__ void octree_keys(const float *x, const int *children, int *out, int n, int levels) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    int path[12];
    float p[3] = {x[t], x[n + t], x[2 * n + t]};
    int node = 0;
    for (int l = 0; l < levels; ++l) {
        path[l] = node;
        int o = 0;
        for (int k = 0; k < 3; ++k) {
            p[k] *= 2.f;
            if (p[k] >= 1.f) { p[k] -= 1.f; o |= 1 << k; }
        }
        node = children[node * 8 + o];
    }
    int up = levels - 1;
    while (up > 0 && (path[up] & 3)) --up;
    out[t] = path[up] * 16 + up;
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
    const int n = 8192 * 128;
    float *x = uniform<float>(3 * n, 0, 1);
    int *c = uniform<int>(8 * 4096, 0, 4096);
    int *out = zeros<int>(n);
    return report([&] { octree_keys<<<8192, 128>>>(x, c, out, n, 8); }, out, n);
}
