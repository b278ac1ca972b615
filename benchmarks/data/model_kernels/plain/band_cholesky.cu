// launch: block=256
// Cholesky factorization of banded matrices of 16 rows with 3 diagonals below.
#define ROWS 16
#define BAND 4
extern "C" __global__ void band_cholesky(const float *in, float *out, int n, int rows) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= n) return;
  float l[ROWS][BAND];
  for (int i = 0; i < rows; ++i) {
    for (int d = BAND - 1; d >= 0; --d) {
      int j = i - d;
      if (j < 0) continue;
      float s = in[(i * BAND + d) * n + t] + (d == 0 ? 8.f : 0.f);
      for (int k = max(0, i - BAND + 1); k < j; ++k) s -= l[i][i - k] * l[j][j - k];
      l[i][d] = d ? s / l[j][0] : sqrtf(s);
    }
  }
  float det = 1.f;
  for (int i = 0; i < rows; ++i) det *= l[i][0];
  out[t] = det;
}
