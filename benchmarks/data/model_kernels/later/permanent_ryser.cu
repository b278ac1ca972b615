// Permanent of a 6 x 6 matrix with Gray code and row sums.
extern "C" __global__ void permanent_ryser(const float *in, float *out, int n) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= n) return;
  float a[6][6], sum[6] = {};
  for (int i = 0; i < 36; ++i) a[i / 6][i % 6] = in[i * n + t];
  float p = 0; int old = 0;
  for (int k = 1; k < 64; ++k) {
    int gray = k ^ k >> 1, bit = __ffs(gray ^ old) - 1; float sign = gray >> bit & 1 ? 1.f : -1.f;
    float prod = 1;
    for (int r = 0; r < 6; ++r) { sum[r] += sign * a[r][bit]; prod *= sum[r]; }
    p += __popc(gray) & 1 ? -prod : prod; old = gray;
  }
  out[t] = p;
}
