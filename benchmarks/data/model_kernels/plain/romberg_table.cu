// launch: block=256
// Romberg integration with the whole triangle kept.
extern "C" __global__ void romberg_table(const float *lo, const float *hi, float *out, int n, int levels) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= n) return;
  float R[7][7];
  float a = lo[t], b = a + hi[t], h = b - a;
  R[0][0] = 0.5f * h * (__expf(-a * a) + __expf(-b * b));
  int points = 1;
  for (int i = 1; i < levels; ++i) {
    h *= 0.5f;
    float s = 0.f;
    for (int k = 0; k < points; ++k) { float x = a + (2 * k + 1) * h; s += __expf(-x * x); }
    R[i][0] = 0.5f * R[i - 1][0] + h * s;
    float p = 1.f;
    for (int j = 1; j <= i; ++j) {
      p *= 4.f;
      R[i][j] = R[i][j - 1] + (R[i][j - 1] - R[i - 1][j - 1]) / (p - 1.f);
    }
    points *= 2;
  }
  out[t] = R[levels - 1][levels - 1];
}
