// Points on the edges of a cube that a surface crosses, then the triangles a table names.
// In the manner of awaiyuki/slime, slime/renderer/marching_cubes_device.cuh.
#include <algorithm>
#include <cstdio>
#include <vector>

__global__ void cube_edges(const float *field, const signed char *triangles, float *area, int side, float level) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int x = i % side, y = i / side % side, z = i / side / side;
    if (x + 1 >= side || y + 1 >= side || z + 1 >= side) return;
    float corner[8];
    int kind = 0;
    for (int c = 0; c < 8; ++c) {
        corner[c] = field[i + (c & 1) + (c >> 1 & 1) * side + (c >> 2) * side * side];
        kind |= (corner[c] > level) << c;
    }
    float vx[12], vy[12], vz[12];
    int edge = 0;
    for (int axis = 0; axis < 3; ++axis)
        for (int c = 0; c < 8; ++c) {
            if (c >> axis & 1) continue;
            int o = c | 1 << axis;
            if ((kind >> c & 1) != (kind >> o & 1)) {
                float part = (level - corner[c]) / (corner[o] - corner[c]);
                vx[edge] = (c & 1) + (axis == 0 ? part : 0.f);
                vy[edge] = (c >> 1 & 1) + (axis == 1 ? part : 0.f);
                vz[edge] = (c >> 2) + (axis == 2 ? part : 0.f);
            } else {
                vx[edge] = vy[edge] = vz[edge] = 0.5f;
            }
            ++edge;
        }
    float sum = 0.f;
    for (const signed char *t = triangles + 16 * kind; *t >= 0; t += 3) {
        float ax = vx[t[1]] - vx[t[0]], ay = vy[t[1]] - vy[t[0]], az = vz[t[1]] - vz[t[0]];
        float bx = vx[t[2]] - vx[t[0]], by = vy[t[2]] - vy[t[0]], bz = vz[t[2]] - vz[t[0]];
        float nx = ay * bz - az * by, ny = az * bx - ax * bz, nz = ax * by - ay * bx;
        sum += sqrtf(nx * nx + ny * ny + nz * nz);
    }
    area[i] = sum;
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
    const int side = 64, n = side * side * side;
    std::vector<signed char> table(16 * 256, -1);
    for (int kind = 1; kind < 255; ++kind)
        for (int i = 0; i < 3 * (1 + kind % 5); ++i) table[16 * kind + i] = (signed char)(random_unit() * 12);
    signed char *triangles = on_device(table);
    float *field = uniform<float>(n, 0, 1), *area = zeros<float>(n);
    return report([&] { cube_edges<<<2048, 128>>>(field, triangles, area, side, 0.5f); }, area, n);
}
