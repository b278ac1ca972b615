// Legendre functions up to order 10 in a triangle of values.
extern "C" __global__ void wigner_recursion(const float *x, const float *c, float *out, int n, int order) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= n) return;
  float p[11][11]; float u = x[t] * 2 - 1, v = sqrtf(1 - u * u); p[0][0] = 1;
  for (int m = 1; m <= order; ++m) p[m][m] = -(2 * m - 1) * v * p[m - 1][m - 1];
  for (int m = 0; m < order; ++m) p[m + 1][m] = (2 * m + 1) * u * p[m][m];
  for (int m = 0; m <= order; ++m)
    for (int l = m + 2; l <= order; ++l) p[l][m] = ((2 * l - 1) * u * p[l - 1][m] - (l + m - 1) * p[l - 2][m]) / (l - m);
  float s = 0;
  for (int l = 0; l <= order; ++l) for (int m = 0; m <= l; ++m) s += c[l * 11 + m] * p[l][m];
  out[t] = s;
}
