// Thirty live doubles, with and without a register cap.
#include <cstdio>

#include "../../../kernels/thirty_doubles.cu"

int main() {
  double *x = nullptr;
  cudaMalloc(&x, 30 * 1024 * sizeof(double));
  cudaMemset(x, 0, 30 * 1024 * sizeof(double));
  thirty_doubles<<<264, 512>>>(x, 50);
  thirty_doubles_capped<<<264, 512>>>(x, 50);
  std::printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
  return 0;
}
