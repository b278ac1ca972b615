// Functors as template arguments of a kernel; one keeps state in an array.
#include <functional>
#include <utility>

struct Square {
  __device__ float operator()(float x) { return x * x; }
};

struct Median {
  __device__ float operator()(float x) {
    for (int k = 0; k < 8; ++k) kept[k] = kept[k + 1];
    kept[8] = x;
    float sorted[9];
    for (int k = 0; k < 9; ++k) {
      int place = 0;
      for (int j = 0; j < 9; ++j) place += kept[j] < kept[k] || (kept[j] == kept[k] && j < k);
      sorted[place] = kept[k];
    }
    return sorted[4];
  }
  float kept[9] = {};
};

template <typename Operation>
__global__ void apply(const float *in, float *out, int n) {
  Operation operation;
  for (int i = 0; i < n; ++i) out[i * 32 + threadIdx.x] = operation(in[i * 32 + threadIdx.x]);
}

template <typename Operation>
void start(float *in, float *out, int n) {
  apply<Operation><<<1, 32>>>(in, out, n);
}

int main() {
  start<Square>(nullptr, nullptr, 0);
  start<Median>(nullptr, nullptr, 0);
}
