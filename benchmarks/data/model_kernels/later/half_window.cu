// A window of 16 halves that moves, with its extreme values.
#include <cuda_fp16.h>
extern "C" __global__ void half_window(const __half *x, float *out, int n, int samples) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= n) return;
  __half w[16]; float s = 0;
  for (int i = 0; i < 16; ++i) w[i] = __float2half(0.f);
  for (int k = 0; k < samples; ++k) {
    w[k & 15] = x[k * n + t];
    s += __half2float(w[(k + 5) & 15]) - .5f * __half2float(w[(k * 7) & 15]);
  }
  out[t] = s;
}
