// Inverts a small matrix for each thread with row pivoting.
#include <algorithm>
#include <cstdio>
#include <vector>

__global__ void gauss_jordan_inverse(const float *in, float *out, int n) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[5][10];
    for (int i = 0; i < 5; ++i)
        for (int j = 0; j < 5; ++j) {
            a[i][j] = in[(i * 5 + j) * n + t];
            a[i][5 + j] = i == j;
        }
    for (int c = 0; c < 5; ++c) {
        int p = c;
        for (int r = c + 1; r < 5; ++r)
            if (fabsf(a[r][c]) > fabsf(a[p][c])) p = r;
        for (int j = 0; j < 10; ++j) {
            float held = a[c][j];
            a[c][j] = a[p][j];
            a[p][j] = held;
        }
        float scale = 1.f / a[c][c];
        for (int j = 0; j < 10; ++j) a[c][j] *= scale;
        for (int r = 0; r < 5; ++r)
            if (r != c) {
                float f = a[r][c];
                for (int j = 0; j < 10; ++j) a[r][j] -= f * a[c][j];
            }
    }
    for (int i = 0; i < 5; ++i)
        for (int j = 0; j < 5; ++j) out[(i * 5 + j) * n + t] = a[i][5 + j];
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
    const int n = 2048 * 128;
    float *s = uniform<float>(25 * n, -1, 1);
    float *out = zeros<float>(25 * n);
    return report([&] { gauss_jordan_inverse<<<2048, 128>>>(s, out, n); }, out, 25 * n);
}
