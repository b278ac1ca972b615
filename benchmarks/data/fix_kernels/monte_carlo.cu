// A path of 120 forward rates, evolved step by step: 960 bytes in two arrays.
extern "C" __global__ void monte_carlo(const float *in, float *out, int n) {
  int t = blockIdx.x * blockDim.x + threadIdx.x, stride = gridDim.x * blockDim.x;
  float rate[120], volatility[120];
#pragma unroll 1
  for (int i = 0; i < 120; ++i) {
    rate[i] = 0.05f;
    volatility[i] = 0.2f - 0.001f * i;
  }
  for (int k = 0; k < n; ++k) {
    float root = in[(k & 15) * stride + t], drift = 0.0f;
#pragma unroll 1
    for (int i = k + 1; i < 120; ++i) {
      float step = 0.25f * volatility[i - k - 1], scaled = step * rate[i];
      drift += __fdividef(step * scaled, 1.0f + 0.25f * rate[i]);
      rate[i] *= __expf(drift * step + step * (root - 0.5f * step));
    }
  }
  float value = 0.0f, discount = 1.0f;
#pragma unroll 1
  for (int i = n; i < 120; ++i) {
    discount = __fdividef(discount, 1.0f + 0.25f * rate[i]);
    value += discount * rate[i];
  }
  out[t] = value;
}
