// Counts of the four values of two bits, in every position of a word.
extern "C" __global__ void radix_digits(const unsigned *in, unsigned *out, int n, int rows) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= n) return;
  unsigned count[16] = {};
  for (int r = 0; r < rows; ++r) {
    unsigned w = in[r * n + t];
    for (int p = 0; p < 8; ++p) { count[w & 15]++; w >>= 4; }
  }
  unsigned best = 0;
  for (int i = 1; i < 16; ++i) if (count[i] > count[best]) best = i;
  out[t] = best | count[best] << 8;
}
