// A column of 17 doubles that moves with the loop.
// threads: n / 64
__global__ void k(float *out, const float *in, int n) {
  const int W = 1024, D = 64; int i = blockIdx.x * blockDim.x + threadIdx.x; int m = n / D; if (i >= m - 2 * W || i < W) return;
  double c[17];
#pragma unroll
  for (int j = 0; j < 17; ++j) c[j] = in[i + j * m];
  for (int z = 8; z < D - 9; ++z) {
    double s = 0;
#pragma unroll
    for (int j = 0; j < 8; ++j) s += (c[j] + c[16 - j]) * (0.1 + j);
    s += c[8] * 3 + in[i + 1 + z * m] + in[i - 1 + z * m] + in[i + W + z * m] + in[i - W + z * m];
    out[i + z * m] = s;
#pragma unroll
    for (int j = 0; j < 16; ++j) c[j] = c[j + 1];
    c[16] = in[i + (z + 9) * m];
  }
}
