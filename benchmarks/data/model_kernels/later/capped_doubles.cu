// A dense step with 24 doubles under launch bounds that spill.
extern "C" __global__ void __launch_bounds__(256, 8) capped_doubles(const double *in, double *out, int n, int steps) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= n) return;
  double s[24];
#pragma unroll
  for (int i = 0; i < 24; ++i) s[i] = in[i * n + t];
  for (int k = 0; k < steps; ++k) {
    double m = s[0];
#pragma unroll
    for (int i = 0; i < 24; ++i) { s[i] = s[i] * .99 + m * s[(i + 5) % 24]; m += s[i] * .125; }
  }
  double r = 0;
#pragma unroll
  for (int i = 0; i < 24; ++i) r += s[i];
  out[t] = r;
}
