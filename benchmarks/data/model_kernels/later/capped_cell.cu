// A cell model with many state variables under launch bounds that spill.
extern "C" __global__ void __launch_bounds__(1024, 2) capped_cell(const float *in, float *out, int n, int steps) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= n) return;
  float s[40];
#pragma unroll
  for (int i = 0; i < 40; ++i) s[i] = in[i * n + t];
  for (int k = 0; k < steps; ++k) {
#pragma unroll
    for (int i = 0; i < 40; ++i) s[i] += .01f * (s[(i + 1) % 40] - s[i]) * s[(i + 7) % 40];
  }
  float r = 0;
#pragma unroll
  for (int i = 0; i < 40; ++i) r += s[i];
  out[t] = r;
}
