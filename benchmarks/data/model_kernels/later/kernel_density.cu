// A histogram of 24 bins, smoothed, of rows with weights.
extern "C" __global__ void kernel_density(const float *x, const float *w, float *out, int n, int rows) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= n) return;
  float bin[24] = {};
  for (int r = 0; r < rows; ++r) { int b = (int)(x[r * n + t] * 24); bin[b < 24 ? b : 23] += w[r * n + t]; }
  float best = 0;
  for (int i = 1; i < 23; ++i) best = fmaxf(best, .25f * bin[i - 1] + .5f * bin[i] + .25f * bin[i + 1]);
  out[t] = best;
}
