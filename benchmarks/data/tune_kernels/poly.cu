// 48 coefficients in registers.
// threads: n / 8
__global__ void k(float *out, const float *in, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x; if (i >= n / 8) return;
  float c[48];
#pragma unroll
  for (int j = 0; j < 48; ++j) c[j] = in[(i & ~31) + j];
#pragma unroll
  for (int q = 0; q < 8; ++q) {
    float x = in[i + q * (n / 8)], s = 0, t = 0;
#pragma unroll
    for (int r = 0; r < 3; ++r) {
#pragma unroll
    for (int j = 0; j < 48; ++j) { s = s * x + c[j]; t = t * s + c[47 - j]; } }
    out[i + q * (n / 8)] = s + t;
  }
}
