// The inverse of 5 by 5 doubles.
// threads: n / 25
__global__ void k(float *out, const float *in, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x; int m = n / 25; if (i >= m) return;
  double a[5][5], b[5][5];
#pragma unroll
  for (int r = 0; r < 5; ++r)
#pragma unroll
    for (int c = 0; c < 5; ++c) { a[r][c] = in[i + (r * 5 + c) * m] + (r == c) * 5; b[r][c] = r == c; }
#pragma unroll
  for (int p = 0; p < 5; ++p) {
    double q = 1 / a[p][p];
#pragma unroll
    for (int c = 0; c < 5; ++c) { a[p][c] *= q; b[p][c] *= q; }
#pragma unroll
    for (int r = 0; r < 5; ++r) if (r != p) { double f = a[r][p];
#pragma unroll
      for (int c = 0; c < 5; ++c) { a[r][c] -= f * a[p][c]; b[r][c] -= f * b[p][c]; } }
  }
#pragma unroll
  for (int r = 0; r < 5; ++r)
#pragma unroll
    for (int c = 0; c < 5; ++c) out[i + (r * 5 + c) * m] = b[r][c];
}
