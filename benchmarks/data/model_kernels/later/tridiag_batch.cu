// Thomas algorithm with the modified coefficients kept, sizes at run time.
#define ROWS 32
extern "C" __global__ void tridiag_batch(const float *a, const float *d, float *x, int n, int rows) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= n) return;
  float c[ROWS], y[ROWS];
  float m = 4.f; c[0] = 1.f / m; y[0] = d[t] / m;
  for (int i = 1; i < rows; ++i) {
    float ai = a[i * n + t]; m = 4.f - ai * c[i - 1];
    c[i] = 1.f / m; y[i] = (d[i * n + t] - ai * y[i - 1]) / m;
  }
  float last = y[rows - 1]; x[(rows - 1) * n + t] = last;
  for (int i = rows - 2; i >= 0; --i) { last = y[i] - c[i] * last; x[i * n + t] = last; }
}
