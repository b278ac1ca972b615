// Points and lengths of curves by de Casteljau's scheme; each curve has its degree.
// In the manner of dbrisbin/CudaProjects, chapter_21/bezier.cu.
#include <algorithm>
#include <cstdio>
#include <vector>

__global__ void bezier_points(const float2 *controls, const int *degrees, float *lengths, int curves, int points) {
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c >= curves) return;
    float2 p[10];
    int degree = degrees[c];
    float length = 0.f, lx = 0.f, ly = 0.f;
    for (int i = 0; i <= points; ++i) {
        float t = (float)i / points;
        for (int k = 0; k <= degree; ++k) p[k] = controls[k * curves + c];
        for (int k = degree; k > 0; --k)
            for (int j = 0; j < k; ++j) {
                p[j].x += t * (p[j + 1].x - p[j].x);
                p[j].y += t * (p[j + 1].y - p[j].y);
            }
        if (i) length += sqrtf((p[0].x - lx) * (p[0].x - lx) + (p[0].y - ly) * (p[0].y - ly));
        lx = p[0].x;
        ly = p[0].y;
    }
    lengths[c] = length;
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
    const int n = 528 * 128;
    float2 *controls = (float2 *)uniform<float>(20 * n, 0, 1);
    int *degrees = uniform<int>(n, 3, 10);
    float *lengths = zeros<float>(n);
    return report([&] { bezier_points<<<528, 128>>>(controls, degrees, lengths, n, 12); }, lengths, n);
}
