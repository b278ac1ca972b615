// launch: block=256
// Lattice Boltzmann collision, 19 directions, bounds for 7 blocks.
extern "C" __global__ void __launch_bounds__(256, 7) lattice_d3q19(const float *f, float *g, int n) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= n) return;
  const int ex[19] = {0, 1, -1, 0, 0, 0, 0, 1, -1, 1, -1, 1, -1, 1, -1, 0, 0, 0, 0};
  const int ey[19] = {0, 0, 0, 1, -1, 0, 0, 1, -1, -1, 1, 0, 0, 0, 0, 1, -1, 1, -1};
  const int ez[19] = {0, 0, 0, 0, 0, 1, -1, 0, 0, 0, 0, 1, -1, -1, 1, 1, -1, -1, 1};
  float h[19], rho = 0.f, u = 0.f, v = 0.f, w = 0.f;
#pragma unroll
  for (int i = 0; i < 19; ++i) {
    h[i] = f[i * n + t];
    rho += h[i];
    u += ex[i] * h[i];
    v += ey[i] * h[i];
    w += ez[i] * h[i];
  }
  float r = 1.f / rho;
  u *= r; v *= r; w *= r;
#pragma unroll
  for (int i = 0; i < 19; ++i) {
    float e = ex[i] * u + ey[i] * v + ez[i] * w;
    float k = i == 0 ? 1.f / 3 : i < 7 ? 1.f / 18 : 1.f / 36;
    g[i * n + t] = h[i] - 0.6f * (h[i] - k * rho * (1.f + 3.f * e + 4.5f * e * e - 1.5f * (u * u + v * v + w * w)));
  }
}
