// launch: block=256 rows=24
// A 3D stencil of order 26 along z with the column in registers, bounds for 8 blocks.
extern "C" __global__ void __launch_bounds__(256, 8) stencil_cap(const float *x, float *y, int n, int rows, float c0, float c1, float c2, float c3, float c4) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= n) return;
  float z[27];
#pragma unroll
  for (int i = 0; i < 27; ++i) z[i] = x[i * n + t];
  for (int r = 27; r < rows + 27; ++r) {
    float s = c0 * z[13], q = 0.f;
#pragma unroll
    for (int k = 1; k <= 13; ++k) {
      s += (k & 1 ? c1 : c2) * (z[13 - k] + z[13 + k]);
      q += (k & 2 ? c3 : c4) * (z[13 - k] - z[13 + k]);
    }
    y[(r - 27) * n + t] = s + q * q;
#pragma unroll
    for (int i = 0; i < 26; ++i) z[i] = z[i + 1];
    z[26] = x[(r & 63) * n + t];
  }
}
