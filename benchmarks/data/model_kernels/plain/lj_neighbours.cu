// launch: block=128 rows=48
// Forces on a particle from those within the cutoff; their distances are collected first.
extern "C" __global__ void lj_neighbours(const float *x, float *f, int n, int rows) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= n) return;
  float near[48];
  int used = 0;
  float own = x[t];
  for (int r = 0; r < rows; ++r) {
    float d = x[((t & ~255) + r * 5) % n] - own;
    if (d * d < 0.1f) near[used++] = d;
  }
  float sum = 0.f;
  for (int i = 0; i < used; ++i) {
    float d2 = near[i] * near[i] + 0.01f, inv = 1.f / d2, s6 = inv * inv * inv * 1e-6f;
    sum += near[i] * inv * s6 * (2.f * s6 - 1.f);
  }
  f[t] = sum;
}
