// printf in a kernel.
//
// Expect: report_negative has a small stack frame, the buffer that carries printf's arguments to
// the host. It costs a store per argument, only where the message is printed: usually fine.
// count_negative has none.

#include <cstdio>

extern "C" __global__ void report_negative(float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && x[i] < 0.0f) printf("x[%d] = %f\n", i, x[i]);
  if (i < n) x[i] = fmaxf(x[i], 0.0f);
}

extern "C" __global__ void count_negative(const float *x, int n, int *count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && x[i] < 0.0f) atomicAdd(count, 1);
}
