// A class by binary search in a sorted table of 32 thresholds that is a local constant.
// In the manner of jeronimopenha/wscad_2023_random_forest, IFs_sub/_RF_255IF_1TREE_1INPUT__WORST_100000000.cu.
#include <algorithm>
#include <cstdio>
#include <vector>

__global__ void threshold_search(const float *values, int *classes, int count, int rows) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= count) return;
    const float threshold[32] = {0.01f, 0.03f, 0.07f, 0.1f, 0.12f, 0.15f, 0.19f, 0.2f, 0.22f, 0.26f, 0.3f, 0.33f, 0.36f, 0.4f, 0.43f, 0.47f,
                                 0.5f, 0.52f, 0.55f, 0.6f, 0.63f, 0.66f, 0.7f, 0.73f, 0.77f, 0.8f, 0.84f, 0.87f, 0.9f, 0.93f, 0.96f, 0.99f};
    int sum = 0;
    for (int r = 0; r < rows; ++r) {
        float value = values[(size_t)r * count + t];
        int low = 0, high = 32;
        while (low < high) {
            int middle = (low + high) / 2;
            if (threshold[middle] < value) low = middle + 1;
            else high = middle;
        }
        sum = 3 * sum + low;
    }
    classes[t] = sum;
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
    const int n = 1024 * 256, rows = 16;
    float *values = uniform<float>((size_t)n * rows, 0, 1);
    int *classes = zeros<int>(n);
    return report([&] { threshold_search<<<1024, 256>>>(values, classes, n, rows); }, classes, n);
}
