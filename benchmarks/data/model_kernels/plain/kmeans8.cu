// launch: block=256
// Sums of the points of each thread by the nearest of 8 centres.
extern "C" __global__ void kmeans8(const float *x, const float *centres, float *sums, int n, int rows) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= n) return;
  float sum[8] = {};
  int count[8] = {};
  for (int r = 0; r < rows; ++r) {
    float v = x[r * n + t];
    int at = 0;
    float least = 1e30f;
    for (int k = 0; k < 8; ++k) {
      float d = fabsf(v - centres[k]);
      if (d < least) { least = d; at = k; }
    }
    sum[at] += v;
    ++count[at];
  }
  for (int k = 0; k < 8; ++k) sums[k * n + t] = sum[k] / (1 + count[k]);
}
