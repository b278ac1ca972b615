// 8 by 8 results of a matrix product per thread.
// threads: 64 * 256 * 8
__global__ void k(float *out, const float *in, int n) {
  const int N = 1024;
  __shared__ float A[8][128], B[8][128];
  int tx = threadIdx.x % 16, ty = threadIdx.x / 16;
  int tile = blockIdx.x % 64; int bx = tile % 8, by = tile / 8;
  float acc[8][8] = {};
  const float *a = in + by * 128 * N, *b = in + N * N + bx * 128;
  for (int k0 = 0; k0 < N; k0 += 8) {
    for (int j = 0; j < 4; ++j) {
      int e = threadIdx.x + j * 256;
      A[e % 8][e / 8] = a[(e / 8) * N + k0 + e % 8];
      B[e / 128][e % 128] = b[(k0 + e / 128) * N + e % 128];
    }
    __syncthreads();
#pragma unroll
    for (int kk = 0; kk < 8; ++kk) {
      float x[8], y[8];
#pragma unroll
      for (int j = 0; j < 8; ++j) { x[j] = A[kk][ty * 8 + j]; y[j] = B[kk][tx * 8 + j]; }
#pragma unroll
      for (int p = 0; p < 8; ++p)
#pragma unroll
        for (int q = 0; q < 8; ++q) acc[p][q] += x[p] * y[q];
    }
    __syncthreads();
  }
#pragma unroll
  for (int p = 0; p < 8; ++p)
#pragma unroll
    for (int q = 0; q < 8; ++q) out[(by * 128 + ty * 8 + p) * N + bx * 128 + tx * 8 + q] = acc[p][q];
}
