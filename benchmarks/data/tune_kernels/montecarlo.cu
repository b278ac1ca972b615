// 24 paths per thread.
// threads: n / 16
__global__ void k(float *out, const float *in, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x; if (i >= n / 16) return;
  float v[24]; unsigned s = i * 747796405u + 1;
#pragma unroll
  for (int j = 0; j < 24; ++j) v[j] = in[(i + j) % n];
  for (int t = 0; t < 32; ++t) {
#pragma unroll
    for (int j = 0; j < 24; ++j) {
      s = s * 1664525u + 1013904223u; float z = (float)(s >> 8) * 5.96e-8f;
      v[j] = v[j] * __expf(0.01f * z - 0.005f) + 1e-6f * v[(j + 5) % 24];
    }
  }
  float a = 0;
#pragma unroll
  for (int j = 0; j < 24; ++j) a += fmaxf(v[j] - 1, 0);
  out[i] = a;
}
