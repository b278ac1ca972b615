// Fills the cells of a board that have one candidate left, by masks of rows, columns and boxes.
// In the manner of molczane/sudoku-solver, sudoku-solver.cu.
#include <algorithm>
#include <cstdio>
#include <vector>

__global__ void sudoku_candidates(const unsigned char *boards, int *filled, int boards_count, int passes) {
    int b = blockIdx.x * blockDim.x + threadIdx.x;
    if (b >= boards_count) return;
    unsigned row[9] = {}, column[9] = {}, box[9] = {};
    const unsigned char *board = boards + 81 * (size_t)b;
    for (int i = 0; i < 81; ++i)
        if (unsigned value = board[i]) {
            unsigned bit = 1u << (value - 1);
            row[i / 9] |= bit;
            column[i % 9] |= bit;
            box[i / 27 * 3 + i % 9 / 3] |= bit;
        }
    int made = 0;
    for (int pass = 0; pass < passes; ++pass)
        for (int i = 0; i < 81; ++i) {
            if (board[i]) continue;
            int r = i / 9, c = i % 9, x = r / 3 * 3 + c / 3;
            unsigned open = 0x1ff & ~(row[r] | column[c] | box[x]);
            if (__popc(open) == 1) {
                row[r] |= open;
                column[c] |= open;
                box[x] |= open;
                ++made;
            }
        }
    filled[b] = made;
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
    std::vector<unsigned char> boards(81 * (size_t)n);
    for (size_t i = 0; i < boards.size(); ++i) {
        int cell = int(i % 81), r = cell / 9, c = cell % 9;
        boards[i] = random_unit() < 0.45 ? (unsigned char)((r * 3 + r / 3 + c + i / 81) % 9 + 1) : 0;
    }
    unsigned char *in = on_device(boards);
    int *filled = zeros<int>(n);
    return report([&] { sudoku_candidates<<<1024, 128>>>(in, filled, n, 4); }, filled, n);
}
