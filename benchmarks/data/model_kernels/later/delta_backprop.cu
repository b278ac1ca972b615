// Errors of a small network with two hidden layers, kept per neuron.
extern "C" __global__ void delta_backprop(const float *w, const float *x, float *out, int n, int width) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= n) return;
  float h[12], d[12];
  for (int i = 0; i < width; ++i) { float s = 0; for (int j = 0; j < 4; ++j) s += w[i * 4 + j] * x[j * n + t]; h[i] = s / (1 + fabsf(s)); }
  for (int i = 0; i < width; ++i) { float s = 0; for (int j = 0; j < width; ++j) s += w[48 + i * 12 + j] * h[j]; d[i] = s * (1 - h[i] * h[i]); }
  float e = 0;
  for (int i = 0; i < width; ++i) e += d[i] * h[width - 1 - i];
  out[t] = e;
}
