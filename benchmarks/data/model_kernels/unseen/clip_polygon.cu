// Clips a triangle by planes: corners go from one array to another.
#include <algorithm>
#include <cstdio>
#include <vector>

__global__ void clip_polygon(const float2 *corners, const float *planes, float *area, int n, int count) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    float2 a[12], b[12];
    int m = 3;
    for (int i = 0; i < 3; ++i) a[i] = corners[i * n + t];
    for (int p = 0; p < count; ++p) {
        float nx = planes[3 * p], ny = planes[3 * p + 1], c = planes[3 * p + 2];
        int k = 0;
        for (int i = 0; i < m; ++i) {
            float2 u = a[i], v = a[(i + 1) % m];
            float du = nx * u.x + ny * u.y - c, dv = nx * v.x + ny * v.y - c;
            if (du >= 0) b[k++] = u;
            if (du * dv < 0) { float s = du / (du - dv); b[k++] = make_float2(u.x + s * (v.x - u.x), u.y + s * (v.y - u.y)); }
        }
        m = k;
        for (int i = 0; i < m; ++i) a[i] = b[i];
    }
    float sum = 0.f;
    for (int i = 0; i < m; ++i) sum += a[i].x * a[(i + 1) % m].y - a[i].y * a[(i + 1) % m].x;
    area[t] = .5f * sum;
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
    float *c = uniform<float>(6 * n, -1, 1);
    float *p = uniform<float>(12, -.4f, .4f);
    float *out = zeros<float>(n);
    return report([&] { clip_polygon<<<1024, 128>>>((float2 *) c, p, out, n, 4); }, out, n);
}
