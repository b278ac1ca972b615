// Leaves of decision trees counted by class, nodes in global memory.
#include <algorithm>
#include <cstdio>
#include <vector>

__global__ void tree_counts(const int4 *nodes, const float *features, int *out, int n, int trees) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    float f[20];
    int votes[6] = {};
    for (int i = 0; i < 20; ++i) f[i] = features[i * n + t];
    for (int k = 0; k < trees; ++k) {
        int at = k * 63;
        for (int d = 0; d < 5; ++d) {
            int4 one = nodes[at];
            at = f[one.x] < __int_as_float(one.y) ? k * 63 + one.z : k * 63 + one.w;
        }
        ++votes[nodes[at].x % 6];
    }
    int best = 0;
    for (int c = 1; c < 6; ++c)
        if (votes[c] > votes[best]) best = c;
    out[t] = best;
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
    std::vector<int> tree(4 * 63 * 32);
    for (int i = 0; i < 63 * 32; ++i) { int at = i % 63; float cut = random_unit(); tree[4 * i] = int(random_unit() * 20); tree[4 * i + 1] = *(int *) &cut; tree[4 * i + 2] = std::min(2 * at + 1, 62); tree[4 * i + 3] = std::min(2 * at + 2, 62); } int *t = on_device(tree);
    float *f = uniform<float>(20 * n, 0, 1);
    int *out = zeros<int>(n);
    return report([&] { tree_counts<<<1024, 128>>>((int4 *) t, f, out, n, 32); }, out, n);
}
