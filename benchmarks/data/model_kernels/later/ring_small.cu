// Comb filters with a ring of 24 samples, one warp scheduler each.
extern "C" __global__ void ring_small(const float *x, float *y, int n, int samples) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= n) return;
  float r[24] = {}; float s = 0;
  for (int i = 0; i < samples; ++i) { float o = x[(i & 255) * 4096 + t] + .7f * r[i % 24]; r[i % 24] = o; s += o * r[(i * 7 + 5) % 24]; }
  y[t] = s;
}
void run(const float *x, float *y) { ring_small<<<100, 128>>>(x, y, 12800, 3000); }
