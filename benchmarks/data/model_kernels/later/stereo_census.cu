// Costs of 24 disparities from census bits, then the two best.
extern "C" __global__ void stereo_census(const unsigned *left, const unsigned *right, int *out, int n) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= n) return;
  int cost[24]; unsigned c = left[t];
  for (int d = 0; d < 24; ++d) cost[d] = __popc(c ^ right[t + d]);
  int best = 0, second = -1;
  for (int d = 1; d < 24; ++d) if (cost[d] < cost[best]) best = d;
  for (int d = 0; d < 24; ++d) if (abs(d - best) > 1 && (second < 0 || cost[d] < cost[second])) second = d;
  int l = best > 0 ? cost[best - 1] : 99, r = best < 23 ? cost[best + 1] : 99;
  out[t] = best * 16 + (l < r) + (cost[second] - cost[best]) * 1024;
}
