// launch: block=256
// A memory-bound pass with a small array that is hardly used.
extern "C" __global__ void stream_copy_local(const float *x, const int *sel, float *y, int n, int rows) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= n) return;
  float best[24];
  for (int i = 0; i < 24; ++i) best[i] = 0.f;
  for (int r = 0; r < rows; ++r) {
    float v = x[r * n + t];
    y[r * n + t] = v * 2.f;
    if (r % 8 == 7) best[sel[r] % 24] += v;
  }
  float s = 0.f;
  for (int i = 0; i < 24; ++i) s += best[i];
  y[t] = s;
}
