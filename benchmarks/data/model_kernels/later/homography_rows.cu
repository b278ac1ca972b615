// Gaussian elimination of the 8 x 9 system of a homography, one per thread.
extern "C" __global__ void homography_rows(const float *pts, float *out, int n) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= n) return;
  float a[8][9];
  for (int p = 0; p < 4; ++p) {
    float x = pts[(4 * p) * n + t], y = pts[(4 * p + 1) * n + t], u = pts[(4 * p + 2) * n + t], v = pts[(4 * p + 3) * n + t];
    float r0[9] = {x, y, 1, 0, 0, 0, -u * x, -u * y, u}, r1[9] = {0, 0, 0, x, y, 1, -v * x, -v * y, v};
    for (int c = 0; c < 9; ++c) { a[2 * p][c] = r0[c]; a[2 * p + 1][c] = r1[c]; }
  }
  for (int c = 0; c < 8; ++c) {
    int best = c;
    for (int r = c + 1; r < 8; ++r) if (fabsf(a[r][c]) > fabsf(a[best][c])) best = r;
    for (int j = 0; j < 9; ++j) { float s = a[c][j]; a[c][j] = a[best][j]; a[best][j] = s; }
    float inv = 1.f / (a[c][c] + 1e-6f);
    for (int r = c + 1; r < 8; ++r) {
      float f = a[r][c] * inv;
      for (int j = c; j < 9; ++j) a[r][j] -= f * a[c][j];
    }
  }
  float s = 0;
  for (int r = 7; r >= 0; --r) { s = (a[r][8] - s) / (a[r][r] + 1e-6f); out[r * n + t] = s; }
}
