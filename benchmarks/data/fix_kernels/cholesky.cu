// Solving symmetric systems of n unknowns (at most 6) in doubles by Cholesky, as a Gauss-Newton step does.
__device__ bool solve(const double a[6][6], const double *b, double *x, int size) {
  double l[6][6], y[6];
  for (int i = 0; i < size; ++i) {
    for (int j = 0; j <= i; ++j) {
      double sum = a[i][j];
      for (int k = 0; k < j; ++k) sum -= l[i][k] * l[j][k];
      if (i == j) {
        if (sum <= 0.0) return false;
        l[i][i] = sqrt(sum);
      } else {
        l[i][j] = sum / l[j][j];
      }
    }
  }
  for (int i = 0; i < size; ++i) {
    double sum = b[i];
    for (int k = 0; k < i; ++k) sum -= l[i][k] * y[k];
    y[i] = sum / l[i][i];
  }
  for (int i = size - 1; i >= 0; --i) {
    double sum = y[i];
    for (int k = i + 1; k < size; ++k) sum -= l[k][i] * x[k];
    x[i] = sum / l[i][i];
  }
  return true;
}

extern "C" __global__ void cholesky(const double *in, double *out, int n) {
  int t = blockIdx.x * blockDim.x + threadIdx.x, stride = gridDim.x * blockDim.x;
  double total = 0.0;
  for (int k = 0; k < 81; k += 27) {
    double a[6][6], b[6], x[6];
    int row = k;
    for (int i = 0; i < n; ++i) {
      for (int j = 0; j <= i; ++j) a[i][j] = a[j][i] = in[row++ * stride + t];
      a[i][i] += 2.5;
      b[i] = in[(k + 21 + i) * stride + t];
    }
    if (solve(a, b, x, n))
      for (int i = 0; i < n; ++i) total += x[i] * x[i];
  }
  out[t] = total;
}
