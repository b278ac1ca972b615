// All basis functions of a spline at a point; the degree is an argument.
// In the manner of gyoungis/HW1_557_2015_gy, Final/Final_1/CUDAFiles/CUDABDervEvaluate.cu.
#include <algorithm>
#include <cstdio>
#include <vector>

#define DEGREE 7

__global__ void basis_functions(const float *knots, const float *at, const float *control, float *out, int count, int degree, int spans) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= count) return;
    float u = at[t] * spans;
    int span = degree + min((int)u, spans - 1);
    float left[DEGREE + 1], right[DEGREE + 1], basis[DEGREE + 1];
    basis[0] = 1.f;
    for (int j = 1; j <= degree; ++j) {
        left[j] = u - knots[span + 1 - j];
        right[j] = knots[span + j] - u;
        float saved = 0.f;
        for (int r = 0; r < j; ++r) {
            float part = basis[r] / (right[r + 1] + left[j - r]);
            basis[r] = saved + right[r + 1] * part;
            saved = left[j - r] * part;
        }
        basis[j] = saved;
    }
    float sum = 0.f;
    for (int i = 0; i <= degree; ++i) sum += basis[i] * control[span - degree + i];
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
    const int n = 4096 * 256, degree = 5, spans = 40;
    std::vector<float> knot(spans + 2 * degree + 2);
    for (int i = 0; i < int(knot.size()); ++i) knot[i] = float(i - degree);
    float *knots = on_device(knot), *at = uniform<float>(n, 0, 1), *control = uniform<float>(spans + degree, 0, 1), *out = zeros<float>(n);
    return report([&] { basis_functions<<<4096, 256>>>(knots, at, control, out, n, degree, spans); }, out, n);
}
