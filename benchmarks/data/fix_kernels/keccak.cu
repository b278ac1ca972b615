// A permutation like Keccak's: the order of the words stands in a table in constant memory.
__constant__ int order[24] = {10, 7,  11, 17, 18, 3, 5,  16, 8,  21, 24, 4,
                              15, 23, 19, 13, 12, 2, 20, 14, 22, 9,  6,  1};
__constant__ int turn[24] = {1,  3,  6,  10, 15, 21, 28, 36, 45, 55, 2,  14,
                             27, 41, 56, 8,  25, 43, 62, 18, 39, 61, 20, 44};

extern "C" __global__ void keccak(const int *in, int *out, int n) {
  int t = blockIdx.x * blockDim.x + threadIdx.x, stride = gridDim.x * blockDim.x;
  unsigned long long s[25], column[5];
  for (int i = 0; i < 25; ++i) s[i] = in[i * stride + t] * 0x9E3779B97F4A7C15ull;
  for (int round = 0; round < n; ++round) {
    for (int i = 0; i < 5; ++i) column[i] = s[i] ^ s[i + 5] ^ s[i + 10] ^ s[i + 15] ^ s[i + 20];
    for (int i = 0; i < 5; ++i) {
      unsigned long long next = column[(i + 1) % 5];
      unsigned long long mixed = column[(i + 4) % 5] ^ (next << 1 | next >> 63);
      for (int j = 0; j < 25; j += 5) s[j + i] ^= mixed;
    }
    unsigned long long held = s[1];
    for (int i = 0; i < 24; ++i) {
      unsigned long long here = s[order[i]];
      s[order[i]] = held << turn[i] | held >> (64 - turn[i]);
      held = here;
    }
    for (int j = 0; j < 25; j += 5) {
      for (int i = 0; i < 5; ++i) column[i] = s[j + i];
      for (int i = 0; i < 5; ++i) s[j + i] ^= ~column[(i + 1) % 5] & column[(i + 2) % 5];
    }
    s[0] ^= 0x8000000080008081ull * (round + 1);
  }
  out[t] = (int)(s[0] ^ s[12] ^ s[24]);
}
