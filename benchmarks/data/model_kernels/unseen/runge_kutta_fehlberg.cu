// Steps of an adaptive solver whose stages are in a two-dimensional array.
#include <algorithm>
#include <cstdio>
#include <vector>

__device__ void lorenz(const double *y, double *dy) {
    dy[0] = 10. * (y[1] - y[0]);
    dy[1] = y[0] * (28. - y[2]) - y[1];
    dy[2] = y[0] * y[1] - 8. / 3. * y[2];
}
__global__ void runge_kutta_fehlberg(const double *start, double *end, int n, int stages, int steps) {
    const double a[6][5] = {{0}, {1. / 4}, {3. / 32, 9. / 32}, {1932. / 2197, -7200. / 2197, 7296. / 2197},
        {439. / 216, -8., 3680. / 513, -845. / 4104}, {-8. / 27, 2., -3544. / 2565, 1859. / 4104, -11. / 40}};
    const double b[6] = {16. / 135, 0., 6656. / 12825, 28561. / 56430, -9. / 50, 2. / 55};
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    double y[3], k[6][3], z[3], h = 1e-3;
    for (int d = 0; d < 3; ++d) y[d] = start[d * n + t];
    for (int step = 0; step < steps; ++step) {
        for (int s = 0; s < stages; ++s) {
            for (int d = 0; d < 3; ++d) z[d] = y[d];
            for (int r = 0; r < s; ++r)
                for (int d = 0; d < 3; ++d) z[d] += h * a[s][r] * k[r][d];
            lorenz(z, k[s]);
        }
        for (int s = 0; s < stages; ++s)
            for (int d = 0; d < 3; ++d) y[d] += h * b[s] * k[s][d];
    }
    for (int d = 0; d < 3; ++d) end[d * n + t] = y[d];
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
    double *s = uniform<double>(3 * n, 1, 5);
    double *out = zeros<double>(3 * n);
    return report([&] { runge_kutta_fehlberg<<<1024, 128>>>(s, out, n, 6, 20); }, out, 3 * n);
}
