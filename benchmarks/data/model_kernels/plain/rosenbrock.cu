// launch: block=128
// A stiff system of 10 species, one implicit step by Newton iterations with a dense Jacobian.
#define S 10
extern "C" __global__ void rosenbrock(const double *in, double *out, int n, int steps) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= n) return;
  double y[S], f[S], J[S][S];
  for (int i = 0; i < S; ++i) y[i] = in[i * n + t];
  for (int s = 0; s < steps; ++s) {
    for (int i = 0; i < S; ++i) {
      f[i] = -y[i] * y[(i + 1) % S] + 0.1 * y[(i + 7) % S];
      for (int j = 0; j < S; ++j) J[i][j] = (i == j ? 1.0 + 0.01 * y[(i + 1) % S] : 0.0);
      J[i][(i + 1) % S] += 0.01 * y[i];
      J[i][(i + 7) % S] -= 0.001;
    }
    for (int k = 0; k < S; ++k) {
      double r = 1.0 / J[k][k];
      for (int i = k + 1; i < S; ++i) {
        double m = J[i][k] * r;
        for (int j = k + 1; j < S; ++j) J[i][j] -= m * J[k][j];
        f[i] -= m * f[k];
      }
    }
    for (int i = S - 1; i >= 0; --i) {
      double v = f[i];
      for (int j = i + 1; j < S; ++j) v -= J[i][j] * f[j];
      f[i] = v / J[i][i];
      y[i] += 0.01 * f[i];
    }
  }
  for (int i = 0; i < S; ++i) out[i * n + t] = y[i];
}
