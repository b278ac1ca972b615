// Local alignment of short queries, one row of scores and one of gaps.
// In the manner of r-barnes/sw_comparison, implementations/manavski2008/cudakernels/sw_kernel2.cu.
#include <algorithm>
#include <cstdio>
#include <vector>

#define LONGEST 24

__global__ void local_alignment_row(const char *database, const char *query, int *scores, int sequences, int length, int query_length) {
    int s = blockIdx.x * blockDim.x + threadIdx.x;
    if (s >= sequences) return;
    short h[LONGEST + 1], e[LONGEST + 1];
    for (int j = 0; j <= query_length; ++j) h[j] = e[j] = 0;
    int best = 0;
    for (int i = 0; i < length; ++i) {
        char letter = database[(size_t)i * sequences + s];
        int diagonal = 0, f = 0;
        for (int j = 1; j <= query_length; ++j) {
            int gap = max(e[j] - 1, h[j] - 3);
            f = max(f - 1, h[j - 1] - 3);
            int value = max(max(0, diagonal + (query[j - 1] == letter ? 4 : -3)), max(gap, f));
            diagonal = h[j];
            h[j] = (short)value;
            e[j] = (short)gap;
            best = max(best, value);
        }
    }
    scores[s] = best;
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
    const int n = 1056 * 128, length = 40;
    char *database = uniform<char>((size_t)n * length, 0, 4), *query = uniform<char>(24, 0, 4);
    int *scores = zeros<int>(n);
    return report([&] { local_alignment_row<<<1056, 128>>>(database, query, scores, n, length, 20); }, scores, n);
}
