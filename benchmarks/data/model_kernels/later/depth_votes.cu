// Which of 32 depths most of the views vote for.
extern "C" __global__ void depth_votes(const float *depth, int *best, int n, int views) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= n) return;
  unsigned char votes[32] = {};
  for (int v = 0; v < views; ++v) { int d = (int)(depth[v * n + t] * 32.f); votes[d & 31]++; }
  int m = 0;
  for (int d = 1; d < 32; ++d) if (votes[d] > votes[m]) m = d;
  best[t] = m;
}
