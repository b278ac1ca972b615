// As in lookup_interp, for a grid that does not fill the GPU.
extern "C" __global__ void lookup_interp_small(const float *g, const float *x, float *y, int n, int rows) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= n) return;
  float curve[33]; float a = g[t];
  for (int i = 0; i < 33; ++i) curve[i] = __powf(i / 32.f, .5f + a);
  float s = 0;
  for (int r = 0; r < rows; ++r) { float u = x[r * 4096 + t] * 31.9f; int i = (int)u; s += curve[i] + (u - i) * (curve[i + 1] - curve[i]); }
  y[t] = s;
}
void run(const float *g, const float *x, float *y) { lookup_interp_small<<<132, 128>>>(g, x, y, 132 * 128, 2000); }
