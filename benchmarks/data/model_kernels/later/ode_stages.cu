// A Runge-Kutta tableau with stages in an array, for a scalar equation.
extern "C" __global__ void ode_stages(const float *y0, const float *tab, float *out, int n, int stages, int steps) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= n) return;
  float k[7]; float y = y0[t];
  for (int s = 0; s < steps; ++s) {
    for (int i = 0; i < stages; ++i) { float z = y; for (int j = 0; j < i; ++j) z += .01f * tab[i * 7 + j] * k[j]; k[i] = z - z * z * z; }
    for (int i = 0; i < stages; ++i) y += .01f * tab[49 + i] * k[i];
  }
  out[t] = y;
}
