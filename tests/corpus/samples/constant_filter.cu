// Coefficients in constant memory, copied by symbol; a per-thread copy that need not be.
#include <cmath>
#include <numeric>
#include <vector>

__constant__ float taps[33];

__global__ void convolve(const float *in, float *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = 0;
  for (int k = 0; k < 33; ++k) sum += taps[k] * in[(i + k) % n];
  out[i] = sum;
}

__global__ void convolve_by_order(const float *in, const int *order, float *out, int n) {
  float own[33];
  for (int k = 0; k < 33; ++k) own[k] = taps[k] * 0.5f;
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = 0;
  for (int k = 0; k < n; ++k) sum += own[order[k] % 33] * in[(i + k) % n];
  out[i] = sum;
}

int main() {
  std::vector<float> host(33);
  for (int k = 0; k < 33; ++k) host[k] = std::exp(-0.1f * (k - 16) * (k - 16));
  cudaMemcpyToSymbol(taps, host.data(), sizeof(float) * host.size());
  convolve<<<1, 32>>>(nullptr, nullptr, 1);
  convolve_by_order<<<1, 32>>>(nullptr, nullptr, nullptr, 1);
  return cudaDeviceSynchronize();
}
