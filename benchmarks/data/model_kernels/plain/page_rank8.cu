// launch: block=256
// Four steps of a walk on a graph of 8 nodes given by bit masks.
extern "C" __global__ void page_rank8(const unsigned char *masks, float *out, int n) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= n) return;
  float p[8], q[8];
  for (int i = 0; i < 8; ++i) p[i] = 0.125f;
  for (int s = 0; s < 4; ++s) {
    for (int i = 0; i < 8; ++i) q[i] = 0.02f;
    for (int i = 0; i < 8; ++i) {
      unsigned m = masks[i * n + t];
      float share = 0.8f * p[i] / (__popc(m) + 1);
      for (; m; m &= m - 1) q[__ffs(m) - 1] += share;
    }
    for (int i = 0; i < 8; ++i) p[i] = q[i];
  }
  float s = 0.f;
  for (int i = 0; i < 8; ++i) s += p[i] * i;
  out[t] = s;
}
