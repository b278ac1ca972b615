// Evaluates a tree of its own in each thread, in prefix order, over several data points.
// In the manner of EMI-Group/evogp, src/cuda/kernel.cu.
#include <algorithm>
#include <cstdio>
#include <vector>

#define STACK 32

struct Node {
    short kind;
    short variable;
    float value;
};

__global__ void tree_population(const Node *trees, const float *data, float *fitness, int population, int longest, int points) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= population) return;
    const Node *tree = trees + (size_t)t * longest;
    float sum = 0.f;
    for (int p = 0; p < points; ++p) {
        float stack[STACK];
        int top = 0;
        for (int i = longest - 1; i >= 0; --i) {
            Node node = tree[i];
            if (node.kind < 0) continue;
            if (node.kind == 0) {
                stack[top++] = node.value;
            } else if (node.kind == 1) {
                stack[top++] = data[p * 8 + node.variable];
            } else {
                float a = stack[--top], b = stack[--top];
                stack[top++] = node.kind == 2 ? a + b : node.kind == 3 ? a * b : a - b;
            }
        }
        float wrong = stack[0] - data[p * 8 + 7];
        sum += fabsf(wrong);
    }
    fitness[t] = sum;
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
    const int n = 264 * 128, longest = 31, points = 16;
    std::vector<Node> trees((size_t)n * longest);
    for (int t = 0; t < n; ++t) {
        Node *tree = &trees[(size_t)t * longest];
        int inner = 4 + int(random_unit() * 11), size = 2 * inner + 1, depth = 0;
        for (int i = 0; i < longest; ++i) {
            Node &node = tree[longest - 1 - i];
            if (i >= size) { node = Node{-1, 0, 0.f}; continue; }
            int leaves_left = size - i;
            bool leaf = depth < 2 || (depth < leaves_left && random_unit() < 0.5);
            if (leaf) node = Node{short(random_unit() < 0.3 ? 0 : 1), short(random_unit() * 7), float(random_unit())};
            else node = Node{short(2 + int(random_unit() * 3)), 0, 0.f};
            depth += leaf ? 1 : -1;
        }
    }
    Node *in = on_device(trees);
    float *data = uniform<float>(points * 8, -1, 1), *fitness = zeros<float>(n);
    return report([&] { tree_population<<<264, 128>>>(in, data, fitness, n, longest, points); }, fitness, n);
}
