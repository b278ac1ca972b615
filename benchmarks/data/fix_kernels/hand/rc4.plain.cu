// The state in columns of shared memory: bytes, four of a thread to a word, each thread in its own bank.
// The key in registers, as the loop over it is unrolled 8 times.
#define S(i) s[((i) >> 2) * 1024 + ((i) & 3)]

__device__ __forceinline__ void schedule(unsigned char *s, const unsigned char (&key)[8]) {
#pragma unroll
  for (int i = 0; i < 64; ++i) S(i) = i;
  int j = 0;
#pragma unroll 1
  for (int k = 0; k < 64; k += 8) {
#pragma unroll
    for (int m = 0; m < 8; ++m) {
      int i = k + m;
      j = (j + S(i) + key[m]) & 63;
      unsigned char held = S(i);
      S(i) = S(j);
      S(j) = held;
    }
  }
}

extern "C" __global__ void rc4(const int *in, int *out, int n) {
  __shared__ unsigned words[16][256];
  int t = blockIdx.x * blockDim.x + threadIdx.x, stride = gridDim.x * blockDim.x;
  unsigned char *s = (unsigned char *)&words[0][threadIdx.x], key[8];
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    int word = in[k * stride + t];
    key[2 * k] = word & 255;
    key[2 * k + 1] = word >> 8 & 255;
  }
  schedule(s, key);
  int i = 0, j = 0;
  unsigned check = 0;
#pragma unroll 4
  for (int k = 0; k < n; ++k) {
    i = (i + 1) & 63;
    j = (j + S(i)) & 63;
    unsigned char held = S(i);
    S(i) = S(j);
    S(j) = held;
    check = check * 31 + S((S(i) + S(j)) & 63);
  }
  out[t] = check >> 1;
}
