// Orders nine neighbours by brightness and mixes the middle ones.
// In the manner of TianZerL/Anime4KCPP, cuda/src/Anime4K09.cu.
#include <algorithm>
#include <cstdio>
#include <vector>

struct Pixel {
    float red, green, blue, luma;
};

__global__ void luma_order(const float4 *in, float4 *out, int width, int height, int taken) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int x = i % width, y = i / width;
    if (x < 1 || y < 1 || x + 1 >= width || y + 1 >= height) return;
    Pixel sorted[9];
    int n = 0;
    for (int dy = -1; dy <= 1; ++dy)
        for (int dx = -1; dx <= 1; ++dx) {
            float4 p = in[i + dx + dy * width];
            Pixel now = {p.x, p.y, p.z, 0.3f * p.x + 0.6f * p.y + 0.1f * p.z};
            int j = n++;
            while (j > 0 && sorted[j - 1].luma > now.luma) {
                sorted[j] = sorted[j - 1];
                --j;
            }
            sorted[j] = now;
        }
    float r = 0.f, g = 0.f, b = 0.f;
    for (int k = 4 - taken; k <= 4 + taken; ++k) r += sorted[k].red, g += sorted[k].green, b += sorted[k].blue;
    float scale = 1.f / (2 * taken + 1);
    out[i] = make_float4(r * scale, g * scale, b * scale, 1.f);
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
    const int width = 512, height = 512;
    float4 *in = (float4 *)uniform<float>(4 * width * height, 0, 1);
    float *out = zeros<float>(4 * width * height);
    return report([&] { luma_order<<<1024, 256>>>(in, (float4 *)out, width, height, 1); }, out, 4 * width * height);
}
