// Interpolation in a curve of 33 samples that each thread builds.
extern "C" __global__ void lookup_interp(const float *g, const float *x, float *y, int n, int rows) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= n) return;
  float curve[33]; float a = g[t];
  for (int i = 0; i < 33; ++i) curve[i] = __powf(i / 32.f, .5f + a);
  float s = 0;
  for (int r = 0; r < rows; ++r) { float u = x[r * n + t] * 31.9f; int i = (int)u; s += curve[i] + (u - i) * (curve[i + 1] - curve[i]); }
  y[t] = s;
}
