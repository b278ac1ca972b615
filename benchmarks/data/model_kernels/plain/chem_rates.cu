// launch: block=256
// Production rates of 20 species under launch bounds that leave 32 registers.
extern "C" __global__ void __launch_bounds__(256, 8) chem_rates(const float *in, float *out, int n, int rows) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= n) return;
  float w[20], c[20];
#pragma unroll
  for (int i = 0; i < 20; ++i) { w[i] = 0.f; c[i] = in[i * n + t]; }
  for (int r = 0; r < rows; ++r) {
    float T = 1.f + 0.01f * r;
#pragma unroll
    for (int i = 0; i < 20; ++i) {
      float k = c[i] * c[(i * 7 + 3) % 20] * T - 0.3f * c[(i + 11) % 20];
      w[i] -= k;
      w[(i * 7 + 3) % 20] -= 0.5f * k;
      w[(i + 11) % 20] += k;
    }
#pragma unroll
    for (int i = 0; i < 20; ++i) c[i] += 1e-3f * w[i];
  }
#pragma unroll
  for (int i = 0; i < 20; ++i) out[i * n + t] = c[i] + w[i];
}
