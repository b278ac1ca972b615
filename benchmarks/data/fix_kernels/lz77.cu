// Compressing n letters (at most 64, of an alphabet of four) as LZ77 does: the longest match of up to 8
// in the last 16 letters, or a letter.
extern "C" __global__ void lz77(const int *in, int *out, int n) {
  int t = blockIdx.x * blockDim.x + threadIdx.x, stride = gridDim.x * blockDim.x;
  unsigned char text[64];
  for (int k = 0; k < 16; ++k) {
    int word = in[k * stride + t];
    for (int j = 0; j < 4; ++j) text[4 * k + j] = word >> (2 * j) & 3;
  }
  int position = 0, tokens = 0;
  unsigned hash = 0;
  while (position < n) {
    int length = 0, distance = 0;
    for (int d = 1; d <= 16 && d <= position; ++d) {
      int l = 0;
      while (l < 8 && position + l < n && text[position + l] == text[position + l - d]) ++l;
      if (l > length) {
        length = l;
        distance = d;
      }
    }
    if (length < 3) {
      hash = hash * 31 + text[position];
      ++position;
    } else {
      hash = hash * 31 + (distance << 4 | length);
      position += length;
    }
    ++tokens;
  }
  out[t] = tokens;
  out[stride + t] = hash >> 1;
}
