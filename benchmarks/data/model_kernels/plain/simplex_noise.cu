// launch: block=256 octaves=6
// Gradient noise with a permutation of 32 entries and gradients per call.
extern "C" __global__ void simplex_noise(const float *x, const float *y, float *out, int n, int octaves) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= n) return;
  const unsigned char perm[32] = {17, 3, 28, 9, 0, 31, 12, 22, 5, 14, 26, 8, 19, 1, 30, 11, 24, 6, 15, 29, 2, 20, 10, 27, 4, 18, 13, 23, 7, 16, 25, 21};
  const float gx[8] = {1, -1, 1, -1, 1.414f, -1.414f, 0, 0}, gy[8] = {1, 1, -1, -1, 0, 0, 1.414f, -1.414f};
  float u = x[t] * 16.f, v = y[t] * 16.f, s = 0.f, a = 1.f;
  for (int o = 0; o < octaves; ++o) {
    int i = (int)floorf(u), j = (int)floorf(v);
    float fx = u - i, fy = v - j;
    for (int c = 0; c < 4; ++c) {
      int h = perm[(i + (c & 1) + perm[(j + (c >> 1)) & 31]) & 31] & 7;
      float dx = fx - (c & 1), dy = fy - (c >> 1);
      float w = fmaxf(0.5f - dx * dx - dy * dy, 0.f);
      s += a * w * w * (gx[h] * dx + gy[h] * dy);
    }
    u *= 2.1f; v *= 2.1f; a *= 0.5f;
  }
  out[t] = s;
}
