// Device code that calls constexpr functions of the host (nvcc: --expt-relaxed-constexpr).
#include <algorithm>
#include <array>

constexpr int clamp_index(int i, int n) { return i < 0 ? 0 : i >= n ? n - 1 : i; }

__global__ void shift(const float *in, float *out, int n, int by) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[clamp_index(i + by, n)];
}

__global__ void limit(float *data, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) data[i] = std::max(std::min(data[i], 1.0f), 0.0f);
}

int main() {
  shift<<<1, 32>>>(nullptr, nullptr, 0, 1);
  limit<<<1, 32>>>(nullptr, 0);
}
