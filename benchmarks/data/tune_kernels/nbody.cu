// Four bodies per thread.
// threads: 1 << 19
__global__ void k(float *out, const float *in, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x; int m = 16384; i %= m;
  float px[4], py[4], pz[4], ax[4] = {}, ay[4] = {}, az[4] = {};
#pragma unroll
  for (int j = 0; j < 4; ++j) { px[j] = in[i + j]; py[j] = in[m + i + j]; pz[j] = in[2 * m + i + j]; }
#pragma unroll 8
  for (int b = 0; b < 512; ++b) {
    float qx = in[b], qy = in[b + 512], qz = in[b + 1024];
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      float dx = qx - px[j], dy = qy - py[j], dz = qz - pz[j];
      float d = rsqrtf(dx * dx + dy * dy + dz * dz + 1e-3f); d = d * d * d;
      ax[j] += dx * d; ay[j] += dy * d; az[j] += dz * d;
    }
  }
  float s = 0;
#pragma unroll
  for (int j = 0; j < 4; ++j) s += ax[j] + ay[j] + az[j];
  out[blockIdx.x * blockDim.x + threadIdx.x] = s;
}
