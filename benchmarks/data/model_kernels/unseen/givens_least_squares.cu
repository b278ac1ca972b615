// Least squares by Givens rotations, rows added to a triangle one after another.
#include <algorithm>
#include <cstdio>
#include <vector>

__global__ void givens_least_squares(const float *rows, float *out, int n, int count, int unknowns) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    float r[6][7] = {};
    for (int k = 0; k < count; ++k) {
        float row[7];
        for (int j = 0; j <= unknowns; ++j) row[j] = rows[(k * 7 + j) % 61 * n + t];
        for (int i = 0; i < unknowns; ++i) {
            float h = sqrtf(r[i][i] * r[i][i] + row[i] * row[i]) + 1e-20f, c = r[i][i] / h, s = row[i] / h;
            for (int j = i; j <= unknowns; ++j) {
                float a = r[i][j], b = row[j];
                r[i][j] = c * a + s * b;
                row[j] = c * b - s * a;
            }
        }
    }
    float sum = 0.f;
    for (int i = unknowns - 1; i >= 0; --i) sum += r[i][unknowns] / (r[i][i] + 1e-6f);
    out[t] = sum;
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
    const int n = 512 * 128;
    float *s = uniform<float>(61 * n, -1, 1);
    float *out = zeros<float>(n);
    return report([&] { givens_least_squares<<<512, 128>>>(s, out, n, 12, 6); }, out, n);
}
