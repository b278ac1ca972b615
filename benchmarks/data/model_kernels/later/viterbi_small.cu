// Viterbi over eight states with back pointers of 64 steps, for few threads.
extern "C" __global__ void viterbi_small(const float *emit, int *out, int n, int rounds) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= n) return;
  unsigned char back[64][8]; float v[8]; int h = 0;
  for (int r = 0; r < rounds; ++r) {
    for (int s = 0; s < 8; ++s) v[s] = 0;
    for (int k = 0; k < 64; ++k) {
      float w[8];
      for (int s = 0; s < 8; ++s) { int b = (s * 3 + 1) & 7; int p = v[b] > v[s] ? b : s; w[s] = v[p] + emit[(k * 8 + s) * 4096 + t]; back[k][s] = p; }
      for (int s = 0; s < 8; ++s) v[s] = w[s];
    }
    int at = 0;
    for (int k = 63; k >= 0; --k) { at = back[k][at]; h = h * 3 + at; }
  }
  out[t] = h;
}
void run(const float *emit, int *out) { viterbi_small<<<64, 128>>>(emit, out, 64 * 128, 8); }
