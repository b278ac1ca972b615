// Copies rows through a small stage with a rotation; memory decides.
extern "C" __global__ void stream_stage(const float *in, float *out, int n, int shift) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= n) return;
  float s[8];
  for (int r = 0; r < 8; ++r) {
    for (int i = 0; i < 8; ++i) s[i] = in[(r * 8 + i) * n + t];
    for (int i = 0; i < 8; ++i) out[(r * 8 + i) * n + t] = s[(i + shift) & 7];
  }
}
