// launch: block=128
// Quantized coefficients of an 8x8 block in zigzag order.
extern "C" __global__ void dct8_zigzag(const short *in, short *out, int n) {
  const unsigned char zigzag[64] = {0, 1, 8, 16, 9, 2, 3, 10, 17, 24, 32, 25, 18, 11, 4, 5, 12, 19, 26, 33, 40, 48, 41, 34, 27, 20, 13, 6, 7, 14, 21, 28,
    35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23, 30, 37, 44, 51, 58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63};
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= n) return;
  short b[64];
  for (int i = 0; i < 64; ++i) b[i] = in[i * n + t];
  for (int r = 0; r < 8; ++r)
    for (int k = 0; k < 4; ++k) {
      short u = b[r * 8 + k], v = b[r * 8 + 7 - k];
      b[r * 8 + k] = u + v;
      b[r * 8 + 7 - k] = u - v;
    }
  int zeros = 0, at = 0;
#pragma unroll 1
  for (int i = 0; i < 64; ++i) {
    short v = b[zigzag[i]] / 64;
    if (v == 0) { ++zeros; continue; }
    out[at++ * n + t] = v + zeros;
    zeros = 0;
  }
  if (at < 64) out[at * n + t] = 0;
}
