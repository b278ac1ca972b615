// A limit on registers that holds the 65 sums.
extern "C" __global__ void __launch_bounds__(128, 6) normal(const float *in, float *out, int n) {
  int t = blockIdx.x * blockDim.x + threadIdx.x, stride = gridDim.x * blockDim.x;
  float ata[55], atb[10];
#pragma unroll
  for (int i = 0; i < 55; ++i) ata[i] = 0.0f;
#pragma unroll
  for (int i = 0; i < 10; ++i) atb[i] = 0.0f;
  for (int k = 0; k < n; ++k) {
    float x = in[(3 * k) * stride + t], y = in[(3 * k + 1) * stride + t];
    float z = in[(3 * k + 2) * stride + t];
    float a[10] = {1.0f, x, y, x * x, x * y, y * y, x * x * x, x * x * y, x * y * y, y * y * y};
#pragma unroll
    for (int i = 0; i < 10; ++i) {
#pragma unroll
      for (int j = 0; j <= i; ++j) ata[i * (i + 1) / 2 + j] += a[i] * a[j];
      atb[i] += a[i] * z;
    }
  }
#pragma unroll
  for (int i = 0; i < 55; ++i) out[i * stride + t] = ata[i];
#pragma unroll
  for (int i = 0; i < 10; ++i) out[(55 + i) * stride + t] = atb[i];
}
