// launch: block=256 rows=16
// RC4 with a state of 64 bytes.
extern "C" __global__ void rc4_small(const unsigned char *key, unsigned *out, int n, int rows) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= n) return;
  unsigned char s[64];
  for (int i = 0; i < 64; ++i) s[i] = i;
  int j = 0;
  for (int i = 0; i < 64; ++i) {
    j = (j + s[i] + key[(i & 15) * n + t]) & 63;
    unsigned char x = s[i]; s[i] = s[j]; s[j] = x;
  }
  unsigned sum = 0;
  int i = 0;
  j = 0;
  for (int r = 0; r < rows; ++r) {
    i = (i + 1) & 63;
    j = (j + s[i]) & 63;
    unsigned char x = s[i]; s[i] = s[j]; s[j] = x;
    sum = sum * 31 + s[(s[i] + s[j]) & 63];
  }
  out[t] = sum;
}
