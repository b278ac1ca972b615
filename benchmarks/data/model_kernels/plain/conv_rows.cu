// launch: block=256 rows=32
// A 7-tap filter of three channels with the window shifted in registers, bounds for 8 blocks.
extern "C" __global__ void __launch_bounds__(256, 8) conv_rows(const float *x, const float *h, float *y, int n, int rows) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= n) return;
  float w[3][7], k[7];
#pragma unroll
  for (int i = 0; i < 7; ++i) { k[i] = h[i]; w[0][i] = w[1][i] = w[2][i] = 0.f; }
  for (int r = 0; r < rows; ++r) {
    float s = 0.f;
#pragma unroll
    for (int c = 0; c < 3; ++c) {
#pragma unroll
      for (int i = 0; i < 6; ++i) w[c][i] = w[c][i + 1];
      w[c][6] = x[(r + c) * n + t];
#pragma unroll
      for (int i = 0; i < 7; ++i) s += (c + 1) * k[i] * w[c][i];
    }
    y[r * n + t] = s;
  }
}
