// All in registers: inlined, and every loop unrolled to 6 with a guard.
__device__ __forceinline__ bool solve(const double (&a)[6][6], const double (&b)[6], double (&x)[6], int size) {
  double l[6][6], y[6];
#pragma unroll
  for (int i = 0; i < 6; ++i) {
    if (i >= size) break;
#pragma unroll
    for (int j = 0; j <= i; ++j) {
      double sum = a[i][j];
#pragma unroll
      for (int k = 0; k < j; ++k) sum -= l[i][k] * l[j][k];
      if (i == j) {
        if (sum <= 0.0) return false;
        l[i][i] = sqrt(sum);
      } else {
        l[i][j] = sum / l[j][j];
      }
    }
  }
#pragma unroll
  for (int i = 0; i < 6; ++i) {
    if (i >= size) break;
    double sum = b[i];
#pragma unroll
    for (int k = 0; k < i; ++k) sum -= l[i][k] * y[k];
    y[i] = sum / l[i][i];
  }
#pragma unroll
  for (int i = 5; i >= 0; --i) {
    if (i < size) {
      double sum = y[i];
#pragma unroll
      for (int k = i + 1; k < 6; ++k)
        if (k < size) sum -= l[k][i] * x[k];
      x[i] = sum / l[i][i];
    }
  }
  return true;
}

extern "C" __global__ void __launch_bounds__(256) cholesky(const double *in, double *out, int n) {
  int t = blockIdx.x * blockDim.x + threadIdx.x, stride = gridDim.x * blockDim.x;
  double total = 0.0;
#pragma unroll 1
  for (int k = 0; k < 81; k += 27) {
    double a[6][6], b[6], x[6];
    int row = k;
#pragma unroll
    for (int i = 0; i < 6; ++i) {
      if (i >= n) break;
#pragma unroll
      for (int j = 0; j <= i; ++j) a[i][j] = a[j][i] = in[row++ * stride + t];
      a[i][i] += 2.5;
      b[i] = in[(k + 21 + i) * stride + t];
    }
    if (solve(a, b, x, n)) {
#pragma unroll
      for (int i = 0; i < 6; ++i)
        if (i < n) total += x[i] * x[i];
    }
  }
  out[t] = total;
}
