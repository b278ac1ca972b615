// launch: block=256 rows=40
// Charge deposition of each thread's particles onto its own 12 cells.
extern "C" __global__ void particle_bins(const float *x, const float *q, float *out, int n, int rows) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= n) return;
  float cell[13] = {};
  for (int r = 0; r < rows; ++r) {
    float u = x[r * n + t] * 12.f;
    int i = min((int)u, 11);
    float f = u - i, c = q[(r & 15) * n + t];
    cell[i] += c * (1.f - f);
    cell[i + 1] += c * f;
  }
  float e = 0.f, s = 0.f;
  for (int i = 0; i < 13; ++i) { s += cell[i]; e += s * s; }
  out[t] = e;
}
