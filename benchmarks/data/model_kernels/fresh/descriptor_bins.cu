// A descriptor of 4 by 4 cells and 8 directions in one thread, scaled and cut.
// In the manner of pierrepaleo/sift_pyocl, openCL/keypoints.cl.
#include <algorithm>
#include <cstdio>
#include <vector>

__global__ void descriptor_bins(const float *size_of, const float *turn_of, const int *keys, unsigned char *out, int count, int width) {
    int k = blockIdx.x * blockDim.x + threadIdx.x;
    if (k >= count) return;
    float bins[128];
    for (int b = 0; b < 128; ++b) bins[b] = 0.f;
    int key = keys[k];
    float turned = turn_of[key];
    for (int y = 0; y < 16; ++y)
        for (int x = 0; x < 16; ++x) {
            int at = key + y * width + x;
            float direction = turn_of[at] - turned;
            if (direction < 0.f) direction += 8.f;
            int low = (int)direction, cell = (y >> 2) * 4 + (x >> 2);
            float part = direction - low, size = size_of[at];
            bins[cell * 8 + (low & 7)] += size * (1.f - part);
            bins[cell * 8 + ((low + 1) & 7)] += size * part;
        }
    float norm = 0.f;
    for (int b = 0; b < 128; ++b) norm += bins[b] * bins[b];
    norm = rsqrtf(norm + 1e-9f);
    for (int b = 0; b < 128; ++b) out[b * count + k] = (unsigned char)(512.f * fminf(bins[b] * norm, 0.2f));
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
    const int n = 264 * 64, width = 512;
    std::vector<int> places(n);
    for (int &one : places) one = int(random_unit() * 490) * width + int(random_unit() * 490);
    int *keys = on_device(places);
    float *size_of = uniform<float>(width * width, 0, 1), *turn_of = uniform<float>(width * width, 0, 8);
    unsigned char *out = zeros<unsigned char>(128 * n);
    return report([&] { descriptor_bins<<<264, 64>>>(size_of, turn_of, keys, out, n, width); }, out, 128 * n);
}
