// All three arrays in registers: the loops unrolled to the largest order, with a guard.
#define MAX_ORDER 12

extern "C" __global__ void __launch_bounds__(256, 5) levinson(const float *in, float *out, int n) {
  int t = blockIdx.x * blockDim.x + threadIdx.x, stride = gridDim.x * blockDim.x;
  float r[MAX_ORDER + 1], a[MAX_ORDER + 1], next[MAX_ORDER + 1];
#pragma unroll 1
  for (int frame = 0; frame < 8; ++frame) {
#pragma unroll
    for (int j = 0; j <= MAX_ORDER; ++j)
      if (j <= n) r[j] = in[(frame * (MAX_ORDER + 1) + j) * stride + t];
    r[0] += 4.0f;
    float error = r[0];
    a[0] = 1.0f;
#pragma unroll
    for (int i = 1; i <= MAX_ORDER; ++i) {
      if (i > n) break;
      float sum = r[i];
#pragma unroll
      for (int j = 1; j < i; ++j) sum += a[j] * r[i - j];
      float k = -sum / error;
#pragma unroll
      for (int j = 1; j < i; ++j) next[j] = a[j] + k * a[i - j];
#pragma unroll
      for (int j = 1; j < i; ++j) a[j] = next[j];
      a[i] = k;
      error *= 1.0f - k * k;
    }
    float gain = 0.0f;
#pragma unroll
    for (int j = 0; j <= MAX_ORDER; ++j)
      if (j <= n) gain += a[j] * a[j];
    out[frame * stride + t] = error * gain;
  }
}
