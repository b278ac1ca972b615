// A stream cipher like RC4 with a state of 64 bytes: the key schedule, then n bytes of the stream.
__device__ void schedule(unsigned char *s, const unsigned char *key) {
  for (int i = 0; i < 64; ++i) s[i] = i;
  int j = 0;
  for (int i = 0; i < 64; ++i) {
    j = (j + s[i] + key[i % 8]) & 63;
    unsigned char held = s[i];
    s[i] = s[j];
    s[j] = held;
  }
}

extern "C" __global__ void rc4(const int *in, int *out, int n) {
  int t = blockIdx.x * blockDim.x + threadIdx.x, stride = gridDim.x * blockDim.x;
  unsigned char s[64], key[8];
  for (int k = 0; k < 4; ++k) {
    int word = in[k * stride + t];
    key[2 * k] = word & 255;
    key[2 * k + 1] = word >> 8 & 255;
  }
  schedule(s, key);
  int i = 0, j = 0;
  unsigned check = 0;
  for (int k = 0; k < n; ++k) {
    i = (i + 1) & 63;
    j = (j + s[i]) & 63;
    unsigned char held = s[i];
    s[i] = s[j];
    s[j] = held;
    check = check * 31 + s[(s[i] + s[j]) & 63];
  }
  out[t] = check >> 1;
}
