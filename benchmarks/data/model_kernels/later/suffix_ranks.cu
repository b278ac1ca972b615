// Ranks of the suffixes of a string of 16 letters by insertion sort of indices.
extern "C" __global__ void suffix_ranks(const unsigned char *text, unsigned *out, int n) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= n) return;
  unsigned char s[17], order[16];
  for (int i = 0; i < 16; ++i) s[i] = text[i * n + t] & 3;
  s[16] = 255;
  for (int i = 0; i < 16; ++i) {
    int j = i;
    while (j > 0) {
      int p = order[j - 1], q = i;
      while (q < 16 && s[p] == s[q]) { ++p; ++q; }
      if (q < 16 && s[p] < s[q]) break;
      order[j] = order[j - 1]; --j;
    }
    order[j] = i;
  }
  unsigned h = 0;
  for (int i = 0; i < 16; ++i) h = h * 31 + order[i];
  out[t] = h;
}
