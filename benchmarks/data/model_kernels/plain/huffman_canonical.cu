// launch: block=256
// Decodes canonical Huffman codes by the counts of each length.
extern "C" __global__ void huffman_canonical(const unsigned *bits, unsigned *out, int n, int rows) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= n) return;
  const short count[9] = {0, 0, 1, 2, 2, 4, 4, 8, 40};
  short first[10], offset[10];
  first[0] = offset[0] = 0;
  for (int l = 1; l < 9; ++l) {
    first[l] = (first[l - 1] + count[l - 1]) << 1;
    offset[l] = offset[l - 1] + count[l - 1];
  }
  unsigned sum = 0;
  for (int r = 0; r < rows; ++r) {
    unsigned w = bits[r * n + t];
    w ^= w << 13;
    int code = 0, l = 0, symbol = -1;
    while (l < 8) {
      code = code << 1 | (w & 1);
      w >>= 1;
      ++l;
      int d = code - first[l];
      if (d >= 0 && d < count[l]) { symbol = offset[l] + d; break; }
    }
    sum = sum * 33 + symbol;
  }
  out[t] = sum;
}
