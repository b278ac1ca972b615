// Chebyshev coefficients of 16 samples, evaluated by Clenshaw up to an order.
extern "C" __global__ void chebyshev_fit(const float *x, float *out, int n, int order) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= n) return;
  float f[16], c[16];
  for (int i = 0; i < 16; ++i) f[i] = x[i * n + t];
  for (int j = 0; j < order; ++j) { float s = 0; for (int k = 0; k < 16; ++k) s += f[k] * __cosf(3.14159f * j * (k + .5f) / 16); c[j] = s / 8; }
  float d = 0, dd = 0, u = f[3];
  for (int j = order - 1; j > 0; --j) { float e = d; d = 2 * u * d - dd + c[j]; dd = e; }
  out[t] = u * d - dd + .5f * c[0];
}
