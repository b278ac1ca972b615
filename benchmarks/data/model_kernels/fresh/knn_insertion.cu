// The 12 nearest references of a query, kept sorted by insertion.
// In the manner of NTNU-HPC-Lab/LS-CAT, data/kernels/5433/15/cuInsertionSort.cu.
#include <algorithm>
#include <cstdio>
#include <vector>

#define K 12

__global__ void knn_insertion(const float *reference, const float *query, int *index, float *distance, int references, int queries) {
    int q = blockIdx.x * blockDim.x + threadIdx.x;
    if (q >= queries) return;
    float best[K];
    int place[K];
    int kept = 0;
    float x = query[2 * q], y = query[2 * q + 1];
    for (int r = 0; r < references; ++r) {
        float dx = reference[2 * r] - x, dy = reference[2 * r + 1] - y, d = dx * dx + dy * dy;
        if (kept == K && d >= best[K - 1]) continue;
        int at = kept < K ? kept++ : K - 1;
        while (at > 0 && best[at - 1] > d) {
            best[at] = best[at - 1];
            place[at] = place[at - 1];
            --at;
        }
        best[at] = d;
        place[at] = r;
    }
    for (int k = 0; k < kept; ++k) {
        index[k * queries + q] = place[k];
        distance[k * queries + q] = sqrtf(best[k]);
    }
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
    const int n = 256 * 256, m = 600;
    float *reference = uniform<float>(2 * m, 0, 1), *query = uniform<float>(2 * n, 0, 1), *distance = zeros<float>(12 * n);
    int *index = zeros<int>(12 * n);
    return report([&] { knn_insertion<<<256, 256>>>(reference, query, index, distance, m, n); }, index, 12 * n);
}
