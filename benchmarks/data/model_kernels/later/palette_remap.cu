// Remaps pixels through a palette that is permuted per thread.
extern "C" __global__ void palette_remap(const unsigned char *px, const unsigned *key, unsigned *out, int n, int rows) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= n) return;
  unsigned char map[64]; unsigned s = key[t] | 1;
  for (int i = 0; i < 64; ++i) map[i] = i;
  for (int i = 63; i > 0; --i) { s = s * 1664525u + 1013904223u; int j = (s >> 16) % (i + 1); unsigned char e = map[i]; map[i] = map[j]; map[j] = e; }
  unsigned h = 0;
  for (int r = 0; r < rows; ++r) h = h * 31 + map[px[r * n + t] & 63];
  out[t] = h;
}
