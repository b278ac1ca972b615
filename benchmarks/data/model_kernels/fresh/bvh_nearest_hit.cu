// The nearest box that a ray meets, through a tree of boxes with a stack of nodes to come back to.
// In the manner of hhergeth/CudaTracerLib, Kernel/k_TraceHelper.cu.
#include <algorithm>
#include <cstdio>
#include <vector>

#define NODES 1023

__device__ float box_entry(const float *box, float ox, float oy, float oz, float ix, float iy, float iz, float far) {
    float x0 = (box[0] - ox) * ix, x1 = (box[3] - ox) * ix;
    float y0 = (box[1] - oy) * iy, y1 = (box[4] - oy) * iy;
    float z0 = (box[2] - oz) * iz, z1 = (box[5] - oz) * iz;
    float near = fmaxf(fmaxf(fminf(x0, x1), fminf(y0, y1)), fmaxf(fminf(z0, z1), 0.f));
    float past = fminf(fminf(fmaxf(x0, x1), fmaxf(y0, y1)), fminf(fmaxf(z0, z1), far));
    return near <= past ? near : -1.f;
}

__global__ void bvh_nearest_hit(const float *boxes, const float *rays, float *depth, int count) {
    int ray = blockIdx.x * blockDim.x + threadIdx.x;
    if (ray >= count) return;
    const float *r = rays + 6 * ray;
    float ix = 1.f / r[3], iy = 1.f / r[4], iz = 1.f / r[5], best = 1e30f;
    int stack[24];
    int top = 0;
    stack[top++] = 0;
    while (top > 0) {
        int node = stack[--top];
        float entry = box_entry(boxes + 6 * node, r[0], r[1], r[2], ix, iy, iz, best);
        if (entry < 0.f) continue;
        if (2 * node + 1 >= NODES) {
            best = entry;
        } else {
            stack[top++] = 2 * node + 1;
            stack[top++] = 2 * node + 2;
        }
    }
    depth[ray] = best;
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
    std::vector<float> boxes(6 * 1023);
    for (int node = 1022; node >= 0; --node)
        for (int axis = 0; axis < 3; ++axis) {
            float *box = &boxes[6 * node + axis];
            if (node >= 511) {
                box[0] = float(((node - 511) >> (3 * axis)) & 7) + 0.8f * float(random_unit());
                box[3] = box[0] + 0.3f;
            } else {
                box[0] = std::min(boxes[6 * (2 * node + 1) + axis], boxes[6 * (2 * node + 2) + axis]);
                box[3] = std::max(boxes[6 * (2 * node + 1) + axis + 3], boxes[6 * (2 * node + 2) + axis + 3]);
            }
        }
    const int n = 2048 * 128;
    float *tree = on_device(boxes), *rays = uniform<float>(6 * n, -1, 8), *depth = zeros<float>(n);
    return report([&] { bvh_nearest_hit<<<2048, 128>>>(tree, rays, depth, n); }, depth, n);
}
