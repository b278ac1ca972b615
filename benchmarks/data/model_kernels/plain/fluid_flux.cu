// launch: block=128 rows=12
// Fluxes of 8 conserved quantities in double precision under bounds for 8 blocks of 128.
extern "C" __global__ void __launch_bounds__(128, 10) fluid_flux(const double *q, double *f, int n, int rows) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= n) return;
  double l[8], s[8], acc[8];
#pragma unroll
  for (int i = 0; i < 8; ++i) { l[i] = q[i * n + t]; acc[i] = 0.; }
  for (int r = 1; r < rows; ++r) {
#pragma unroll
    for (int i = 0; i < 8; ++i) s[i] = q[(r * 8 + i) % 64 * n + t];
    double ul = l[1] / l[0], ur = s[1] / s[0], pl = 0.4 * (l[4] - 0.5 * l[1] * ul), pr = 0.4 * (s[4] - 0.5 * s[1] * ur);
    double a = fmax(fabs(ul) + sqrt(1.4 * fabs(pl) / l[0]), fabs(ur) + sqrt(1.4 * fabs(pr) / s[0]));
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      acc[i] += 0.5 * (l[i] * ul + s[i] * ur + (i == 1) * (pl + pr)) - 0.5 * a * (s[i] - l[i]);
      l[i] = s[i] + 1e-3 * acc[(i + 3) % 8];
    }
  }
#pragma unroll
  for (int i = 0; i < 8; ++i) f[i * n + t] = acc[i];
}
