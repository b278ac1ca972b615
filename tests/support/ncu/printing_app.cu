// A kernel that prints, one that does not, and an exit status of the program's own.
#include "../../../kernels/printing.cu"

int main() {
  float *x = nullptr;
  int *count = nullptr;
  cudaMalloc(&x, 256 * sizeof(float));
  cudaMalloc(&count, sizeof(int));
  float host[256] = {};
  host[3] = -1.0f;
  cudaMemcpy(x, host, sizeof host, cudaMemcpyHostToDevice);
  cudaMemset(count, 0, sizeof(int));
  count_negative<<<1, 256>>>(x, 256, count);
  report_negative<<<1, 256>>>(x, 256);
  cudaDeviceSynchronize();
  std::fprintf(stderr, "done\n");
  return 7;
}
