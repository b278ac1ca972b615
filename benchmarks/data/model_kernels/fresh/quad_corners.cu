// Corners and crossings of two quadrilaterals, ordered by angle, then their area.
// In the manner of zhouyuangan/quad_iou, README.md.
#include <algorithm>
#include <cstdio>
#include <vector>

__global__ void quad_corners(const float *quads, const float *others, float *area, int count) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= count) return;
    float x[24], y[24], angle[24];
    int n = 0;
    for (int i = 0; i < 4; ++i) {
        float ax = quads[8 * t + 2 * i], ay = quads[8 * t + 2 * i + 1];
        float bx = quads[8 * t + 2 * ((i + 1) & 3)], by = quads[8 * t + 2 * ((i + 1) & 3) + 1];
        for (int j = 0; j < 4; ++j) {
            float cx = others[8 * t + 2 * j], cy = others[8 * t + 2 * j + 1];
            float dx = others[8 * t + 2 * ((j + 1) & 3)], dy = others[8 * t + 2 * ((j + 1) & 3) + 1];
            float det = (bx - ax) * (dy - cy) - (by - ay) * (dx - cx);
            float u = ((cx - ax) * (dy - cy) - (cy - ay) * (dx - cx)) / det;
            float v = ((cx - ax) * (by - ay) - (cy - ay) * (bx - ax)) / det;
            if (u >= 0 && u <= 1 && v >= 0 && v <= 1) {
                x[n] = ax + u * (bx - ax);
                y[n++] = ay + u * (by - ay);
            }
        }
        if (ax > 0 && ay > 0) x[n] = ax, y[n++] = ay;
    }
    float mx = 0, my = 0;
    for (int i = 0; i < n; ++i) mx += x[i], my += y[i];
    mx /= n, my /= n;
    for (int i = 0; i < n; ++i) {
        float px = x[i], py = y[i], a = (py < my ? -1.f : 1.f) * (1.f - (px - mx) * rsqrtf((px - mx) * (px - mx) + (py - my) * (py - my) + 1e-12f));
        int j = i;
        for (; j > 0 && angle[j - 1] > a; --j) angle[j] = angle[j - 1], x[j] = x[j - 1], y[j] = y[j - 1];
        angle[j] = a, x[j] = px, y[j] = py;
    }
    float sum = 0;
    for (int i = 1; i + 1 < n; ++i) sum += (x[i] - x[0]) * (y[i + 1] - y[0]) - (x[i + 1] - x[0]) * (y[i] - y[0]);
    area[t] = 0.5f * fabsf(sum);
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
    const int n = 256 * 256;
    float *quads = uniform<float>(8 * n, -1, 1), *others = uniform<float>(8 * n, -1, 1), *area = zeros<float>(n);
    return report([&] { quad_corners<<<256, 256>>>(quads, others, area, n); }, area, n);
}
