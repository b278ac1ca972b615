// The text in columns of shared memory, four letters to a word.
#define TEXT(i) text[((i) >> 2) * 1024 + ((i) & 3)]
extern "C" __global__ void lz77(const int *in, int *out, int n) {
  __shared__ unsigned words[16][256];
  int t = blockIdx.x * blockDim.x + threadIdx.x, stride = gridDim.x * blockDim.x;
  const unsigned char *text = (const unsigned char *)&words[0][threadIdx.x];
#pragma unroll
  for (int k = 0; k < 16; ++k) {
    unsigned word = in[k * stride + t];
    words[k][threadIdx.x] = (word & 3) | (word >> 2 & 3) << 8 | (word >> 4 & 3) << 16 | (word >> 6 & 3) << 24;
  }
  int position = 0, tokens = 0;
  unsigned hash = 0;
  while (position < n) {
    int length = 0, distance = 0, most = min(8, n - position);
    unsigned first = TEXT(position);
    for (int d = 1; d <= 16 && d <= position; ++d) {
      int l = 0;
      if (first == TEXT(position - d))
        for (l = 1; l < most && TEXT(position + l) == TEXT(position + l - d);) ++l;
      if (l > length) {
        length = l;
        distance = d;
      }
    }
    if (length < 3) {
      hash = hash * 31 + first;
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
