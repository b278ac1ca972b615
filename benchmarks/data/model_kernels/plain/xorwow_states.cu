// launch: block=256 draws=64
// Lagged Fibonacci generator with a ring of 17 words.
extern "C" __global__ void xorwow_states(unsigned *out, int n, int draws) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= n) return;
  unsigned s[17];
  unsigned x = t * 2654435761u + 1;
  for (int i = 0; i < 17; ++i) s[i] = x = x * 1664525u + 1013904223u;
  int p = 0, q = 12;
  unsigned sum = 0;
  for (int k = 0; k < draws; ++k) {
    unsigned v = s[p] = ((s[p] << 9) | (s[p] >> 23)) + s[q];
    p = p == 0 ? 16 : p - 1;
    q = q == 0 ? 16 : q - 1;
    sum ^= v;
  }
  out[t] = sum;
}
