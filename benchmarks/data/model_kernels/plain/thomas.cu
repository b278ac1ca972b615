// launch: block=256
// Tridiagonal systems of 24 unknowns (Thomas).
extern "C" __global__ void thomas(const float *lower, const float *upper, const float *rhs, float *x, int n) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= n) return;
  float c[24], d[24];
  c[0] = upper[t] * 0.25f;
  d[0] = rhs[t] * 0.25f;
#pragma unroll 1
  for (int i = 1; i < 24; ++i) {
    float a = lower[i * n + t], m = 1.f / (4.f - a * c[i - 1]);
    c[i] = upper[i * n + t] * m;
    d[i] = (rhs[i * n + t] - a * d[i - 1]) * m;
  }
  float last = d[23];
  x[23 * n + t] = last;
#pragma unroll 1
  for (int i = 22; i >= 0; --i) {
    last = d[i] - c[i] * last;
    x[i * n + t] = last;
  }
}
