// A histogram per thread and one in shared memory, launched twice each.
#include <cstdio>

#include "../../../kernels/histogram.cu"

int main() {
  constexpr int kValues = 1 << 16;
  unsigned char *data = nullptr;
  unsigned *totals = nullptr;
  cudaMalloc(&data, kValues);
  cudaMalloc(&totals, 64 * sizeof(unsigned));
  static unsigned char host[kValues];
  unsigned state = 1;
  for (unsigned char &value : host) value = (state = state * 1664525u + 1013904223u) >> 24;
  cudaMemcpy(data, host, kValues, cudaMemcpyHostToDevice);
  cudaMemset(totals, 0, 64 * sizeof(unsigned));
  for (int n = 0; n < 2; ++n) {
    histogram_private<<<132, 128>>>(data, totals, kValues);
    histogram_shared<<<132, 128>>>(data, totals, kValues);
  }
  std::printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
  return 0;
}
