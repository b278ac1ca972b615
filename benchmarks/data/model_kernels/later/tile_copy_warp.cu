// Each lane keeps a row of 32, then the warp reads them transposed by shuffles.
extern "C" __global__ void tile_copy_warp(const float *in, float *out, int n, int rounds) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= n) return;
  float row[32]; int lane = threadIdx.x & 31;
  for (int i = 0; i < 32; ++i) row[i] = in[i * n + t];
  float s = 0;
  for (int r = 0; r < rounds; ++r) { float v = row[(lane + r) & 31]; s += __shfl_sync(0xffffffffu, v, (lane * 5 + r) & 31); row[(lane * 3 + r) & 31] = s; }
  out[t] = s;
}
