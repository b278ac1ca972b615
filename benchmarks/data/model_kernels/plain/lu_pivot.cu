// launch: block=128
// Solves 6x6 systems by Gaussian elimination with partial pivoting.
extern "C" __global__ void lu_pivot(const double *in, double *out, int n) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= n) return;
  double a[6][7];
  for (int i = 0; i < 6; ++i)
    for (int j = 0; j < 7; ++j) a[i][j] = in[(i * 7 + j) * n + t];
  for (int c = 0; c < 6; ++c) {
    int p = c;
    for (int r = c + 1; r < 6; ++r)
      if (fabs(a[r][c]) > fabs(a[p][c])) p = r;
    for (int k = c; k < 7; ++k) { double s = a[p][k]; a[p][k] = a[c][k]; a[c][k] = s; }
    for (int r = c + 1; r < 6; ++r) {
      double f = a[r][c] / a[c][c];
      for (int k = c; k < 7; ++k) a[r][k] -= f * a[c][k];
    }
  }
  for (int i = 5; i >= 0; --i) {
    double s = a[i][6];
    for (int k = i + 1; k < 6; ++k) s -= a[i][k] * a[k][6];
    a[i][6] = s / a[i][i];
    out[i * n + t] = a[i][6];
  }
}
