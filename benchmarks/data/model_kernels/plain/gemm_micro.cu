// launch: block=256 k=64
// An 8x8 tile of a product per thread with bounds for 3 blocks.
extern "C" __global__ void __launch_bounds__(256, 4) gemm_micro(const float *a, const float *b, float *c, int n, int k) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= n) return;
  float acc[8][8] = {};
  for (int i = 0; i < k; ++i) {
    float u[8], v[8];
#pragma unroll
    for (int j = 0; j < 8; ++j) {
      u[j] = a[(i * 8 + j) * 32 + (t & 31)];
      v[j] = b[i * 8 + j];
    }
#pragma unroll
    for (int p = 0; p < 8; ++p)
#pragma unroll
      for (int q = 0; q < 8; ++q) acc[p][q] += u[p] * v[q];
  }
  float s = 0.f;
#pragma unroll
  for (int p = 0; p < 8; ++p)
#pragma unroll
    for (int q = 0; q < 8; ++q) s += acc[p][q] * acc[q][p];
  c[t] = s;
}
