// The length of the tour with a given number: its cities leave a pool one after the other.
// In the manner of khanh1412/gpgpu, examples/3_tsp/tsp_kernel.cu.
#include <algorithm>
#include <cstdio>
#include <vector>

__global__ void numbered_tours(const float *distance, float *best, int tours, int cities) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= tours) return;
    int pool[12];
    for (int i = 0; i < cities; ++i) pool[i] = i;
    unsigned number = t * 37u;
    int last = -1, first = -1;
    float length = 0.f;
    for (int left = cities; left > 0; --left) {
        int pick = number % left;
        number /= left;
        int city = pool[pick];
        for (int i = pick; i + 1 < left; ++i) pool[i] = pool[i + 1];
        if (last >= 0) length += distance[last * cities + city];
        else first = city;
        last = city;
    }
    best[t] = length + distance[last * cities + first];
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
    const int n = 1024 * 256, cities = 11;
    float *distance = uniform<float>(cities * cities, 1, 10), *best = zeros<float>(n);
    return report([&] { numbered_tours<<<1024, 256>>>(distance, best, n, cities); }, best, n);
}
