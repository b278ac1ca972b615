// The text in columns of shared memory: bytes, four of a thread to a word, each thread in its own bank.
#define TEXT(i) text[((i) >> 2) * 1024 + ((i) & 3)]
extern "C" __global__ void lz77(const int *in, int *out, int n) {
  __shared__ unsigned words[16][256];
  int t = blockIdx.x * blockDim.x + threadIdx.x, stride = gridDim.x * blockDim.x;
  unsigned char *text = (unsigned char *)&words[0][threadIdx.x];
#pragma unroll
  for (int k = 0; k < 16; ++k) {
    int word = in[k * stride + t];
#pragma unroll
    for (int j = 0; j < 4; ++j) TEXT(4 * k + j) = word >> (2 * j) & 3;
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
