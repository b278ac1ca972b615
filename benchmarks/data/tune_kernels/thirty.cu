// Thirty doubles that mix.
// threads: n
__global__ void k(float *out, const float *in, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x; if (i >= n) return;
  double v[30];
#pragma unroll
  for (int j = 0; j < 30; ++j) v[j] = in[(i + j * 4099) % n];
  for (int r = 0; r < 8; ++r) {
#pragma unroll
    for (int j = 0; j < 30; ++j) v[j] = v[j] * v[(j + 7) % 30] + v[(j + 13) % 30] * 1e-3;
  }
  double s = 0;
#pragma unroll
  for (int j = 0; j < 30; ++j) s += v[j];
  out[i] = (float)s;
}
