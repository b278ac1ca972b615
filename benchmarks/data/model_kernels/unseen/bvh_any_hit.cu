// Walks a tree of boxes with a stack of sixteen nodes.
#include <algorithm>
#include <cstdio>
#include <vector>

struct Box { float low[3], high[3]; int left, right; };
__global__ void bvh_any_hit(const Box *nodes, const float *rays, int *out, int n) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    float o[3], d[3];
    for (int k = 0; k < 3; ++k) { o[k] = rays[k * n + t]; d[k] = 1.f / rays[(3 + k) * n + t]; }
    int stack[24], top = 0, hits = 0;
    stack[top++] = 0;
    while (top) {
        const Box &b = nodes[stack[--top]];
        float near = 0.f, far = 1e9f;
        for (int k = 0; k < 3; ++k) {
            float a = (b.low[k] - o[k]) * d[k], c = (b.high[k] - o[k]) * d[k];
            near = fmaxf(near, fminf(a, c));
            far = fminf(far, fmaxf(a, c));
        }
        if (near > far) continue;
        if (b.left < 0) ++hits;
        else { stack[top++] = b.left; stack[top++] = b.right; }
    }
    out[t] = hits;
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
    const int n = 1024 * 128, m = 1023;
    std::vector<Box> tree(m);
    for (int i = m - 1; i >= 0; --i) { Box &b = tree[i]; for (int k = 0; k < 3; ++k) { if (i >= m / 2) { b.low[k] = random_unit() * 9; b.high[k] = b.low[k] + .5f; } else { b.low[k] = std::min(tree[2 * i + 1].low[k], tree[2 * i + 2].low[k]); b.high[k] = std::max(tree[2 * i + 1].high[k], tree[2 * i + 2].high[k]); } } b.left = i >= m / 2 ? -1 : 2 * i + 1; b.right = 2 * i + 2; } Box *nodes = on_device(tree);
    float *r = uniform<float>(6 * n, .1f, 1);
    int *out = zeros<int>(n);
    return report([&] { bvh_any_hit<<<1024, 128>>>(nodes, r, out, n); }, out, n);
}
