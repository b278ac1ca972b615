// The text in two registers of 64 bits, two bits for a letter.
extern "C" __global__ void lz77(const int *in, int *out, int n) {
  int t = blockIdx.x * blockDim.x + threadIdx.x, stride = gridDim.x * blockDim.x;
  unsigned long long low = 0, high = 0;
#define TEXT(i) ((unsigned)(((i) & 32 ? high : low) >> (2 * ((i) & 31))) & 3)
#pragma unroll
  for (int k = 0; k < 16; ++k) {
    int word = in[k * stride + t];
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      unsigned long long letter = word >> (2 * j) & 3;
      if (k < 8) low |= letter << (2 * (4 * k + j));
      else high |= letter << (2 * (4 * k + j - 32));
    }
  }
  int position = 0, tokens = 0;
  unsigned hash = 0;
  while (position < n) {
    int length = 0, distance = 0;
    for (int d = 1; d <= 16 && d <= position; ++d) {
      int l = 0;
      while (l < 8 && position + l < n && TEXT(position + l) == TEXT(position + l - d)) ++l;
      if (l > length) {
        length = l;
        distance = d;
      }
    }
    if (length < 3) {
      hash = hash * 31 + TEXT(position);
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
