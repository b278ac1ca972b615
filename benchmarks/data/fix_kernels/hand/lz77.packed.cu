// The text in two registers of 64 bits, two bits to a letter; matches are counted by an exclusive or.
extern "C" __global__ void lz77(const int *in, int *out, int n) {
  int t = blockIdx.x * blockDim.x + threadIdx.x, stride = gridDim.x * blockDim.x;
  unsigned long long low = 0, high = 0;
#pragma unroll
  for (int k = 0; k < 8; ++k) {
    low |= (unsigned long long)(in[k * stride + t] & 255) << (8 * k);
    high |= (unsigned long long)(in[(k + 8) * stride + t] & 255) << (8 * k);
  }
  int position = 0, tokens = 0;
  unsigned hash = 0, ahead = (unsigned)low & 0xffff, behind = 0;
  while (position < n) {
    // ahead: the next 8 letters; behind: the last 16, the latest at the top.
    int length = 0, distance = 0, most = min(8, n - position), far = min(16, position);
    unsigned first = ahead & 3;
#pragma unroll 4
    for (int d = 1; d <= far; ++d) {
      unsigned copy = __funnelshift_r(behind, ahead, 32 - 2 * d);
      int l = min((__ffs((copy ^ ahead) & 0xffff | 0x10000) - 1) >> 1, most);
      if (l > length) {
        length = l;
        distance = d;
      }
    }
    int step = 1;
    if (length < 3) {
      hash = hash * 31 + first;
    } else {
      hash = hash * 31 + (distance << 4 | length);
      step = length;
    }
    behind = __funnelshift_r(behind, ahead, 2 * step);
    low = low >> (2 * step) | high << (64 - 2 * step);
    high >>= 2 * step;
    ahead = (unsigned)low & 0xffff;
    position += step;
    ++tokens;
  }
  out[t] = tokens;
  out[stride + t] = hash >> 1;
}
