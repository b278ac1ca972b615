// launch: block=128
// Least squares of a path of 40 dates on a cubic; the exercise dates come from data.
extern "C" __global__ void lsmc_paths(const float *z, const int *dates, float *out, int n) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= n) return;
  float s[41], m[4][5] = {};
  s[0] = 1.f;
  for (int i = 0; i < 40; ++i) s[i + 1] = s[i] * __expf(0.1f * (z[i * n + t] - 0.5f));
  for (int k = 0; k < 8; ++k) {
    float x = s[dates[k * n + t] & 31], y = s[(dates[k * n + t] & 31) + 1], p[4] = {1.f, x, x * x, x * x * x};
    for (int i = 0; i < 4; ++i) {
      for (int j = 0; j < 4; ++j) m[i][j] += p[i] * p[j];
      m[i][4] += p[i] * y;
    }
  }
  for (int c = 0; c < 4; ++c) {
    float r = 1.f / (m[c][c] + 1e-4f);
    for (int i = c + 1; i < 4; ++i)
      for (int j = 4; j >= c; --j) m[i][j] -= m[i][c] * r * m[c][j];
  }
  out[t] = m[3][4] / (m[3][3] + 1e-4f);
}
