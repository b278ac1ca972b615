// launch: block=256 rows=24
// A window that a function which is not inlined averages.
__device__ __noinline__ float spread(const float *w, int used) {
  float m = 0.f, v = 0.f;
  for (int i = 0; i < used; ++i) m += w[i];
  m /= used;
  for (int i = 0; i < used; ++i) v += (w[i] - m) * (w[i] - m);
  return v;
}
extern "C" __global__ void box_filter_call(const float *x, float *y, int n, int rows) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= n) return;
  float w[10];
  float s = 0.f;
  for (int r = 0; r < rows; ++r) {
    w[r % 10] = x[r * n + t];
    s += spread(w, min(r + 1, 10));
  }
  y[t] = s;
}
