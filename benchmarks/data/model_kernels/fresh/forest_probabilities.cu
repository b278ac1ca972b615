// Class probabilities of a forest, summed over trees; the number of classes is an argument.
// In the manner of haesleinhuepf/imglib2-labkit, src/test/resources/clij/random_forest.cl.
#include <algorithm>
#include <cstdio>
#include <vector>

__global__ void forest_probabilities(const float *pixels, const float *thresholds, const float *leaves, float *out, int count, int trees, int classes) {
    int p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= count) return;
    float probability[12];
    for (int c = 0; c < classes; ++c) probability[c] = 0.f;
    for (int tree = 0; tree < trees; ++tree) {
        int node = 0;
        for (int d = 0; d < 4; ++d) node = 2 * node + 1 + (pixels[((tree + d) & 7) * count + p] > thresholds[tree * 16 + node]);
        const float *leaf = leaves + (tree * 16 + node - 15) * classes;
        for (int c = 0; c < classes; ++c) probability[c] += leaf[c];
    }
    float sum = 0.f;
    for (int c = 0; c < classes; ++c) sum += probability[c];
    for (int c = 0; c < classes; ++c) out[c * count + p] = probability[c] / sum;
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
    const int n = 1024 * 256, trees = 16, classes = 9;
    float *pixels = uniform<float>(8 * n, 0, 1), *thresholds = uniform<float>(16 * trees, 0, 1), *leaves = uniform<float>(16 * trees * classes, 0, 1), *out = zeros<float>(classes * n);
    return report([&] { forest_probabilities<<<1024, 256>>>(pixels, thresholds, leaves, out, n, trees, classes); }, out, classes * n);
}
