// The state in columns of shared memory, four bytes of a thread to a word, each thread in its own bank.
#define AT(i) s[((i) >> 2) * 1024 + ((i) & 3)]
extern "C" __global__ void rc4(const int *in, int *out, int n) {
  __shared__ unsigned words[16][256];
  int t = blockIdx.x * blockDim.x + threadIdx.x, stride = gridDim.x * blockDim.x;
  unsigned char *s = (unsigned char *)&words[0][threadIdx.x];
  unsigned key[8];
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    int word = in[k * stride + t];
    key[2 * k] = word & 255;
    key[2 * k + 1] = word >> 8 & 255;
  }
#pragma unroll
  for (int i = 0; i < 16; ++i) words[i][threadIdx.x] = 0x03020100u + i * 0x04040404u;
  int j = 0;
  for (int i = 0; i < 64; i += 8) {
#pragma unroll
    for (int m = 0; m < 8; ++m) {
      unsigned si = AT(i + m);
      j = (j + si + key[m]) & 63;
      unsigned sj = AT(j);
      AT(i + m) = sj;
      AT(j) = si;
    }
  }
  int i = 0;
  j = 0;
  unsigned check = 0;
#pragma unroll 4
  for (int k = 0; k < n; ++k) {
    i = (i + 1) & 63;
    unsigned si = AT(i);
    j = (j + si) & 63;
    unsigned sj = AT(j);
    AT(i) = sj;
    AT(j) = si;
    check = check * 31 + AT((si + sj) & 63);
  }
  out[t] = check >> 1;
}
