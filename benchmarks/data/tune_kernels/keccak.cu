// Keccak with 25 words of 64 bits.
// threads: n
typedef unsigned long long u;
__device__ u rl(u x, int c) { return c ? (x << c) | (x >> (64 - c)) : x; }
__global__ void k(float *out, const float *in, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x; if (i >= n) return;
  u s[25];
#pragma unroll
  for (int j = 0; j < 25; ++j) s[j] = (u)__float_as_uint(in[(i + j * 1031) % n]) * 0x9E3779B97F4A7C15ull;
  for (int r = 0; r < 24; ++r) {
    u c[5], d[5], b[25];
#pragma unroll
    for (int x = 0; x < 5; ++x) c[x] = s[x] ^ s[x + 5] ^ s[x + 10] ^ s[x + 15] ^ s[x + 20];
#pragma unroll
    for (int x = 0; x < 5; ++x) d[x] = c[(x + 4) % 5] ^ rl(c[(x + 1) % 5], 1);
#pragma unroll
    for (int x = 0; x < 5; ++x)
#pragma unroll
      for (int y = 0; y < 5; ++y) b[y + 5 * ((2 * x + 3 * y) % 5)] = rl(s[x + 5 * y] ^ d[x], (x * 7 + y * 11) % 64);
#pragma unroll
    for (int j = 0; j < 25; ++j) s[j] = b[j] ^ (~b[j / 5 * 5 + (j + 1) % 5] & b[j / 5 * 5 + (j + 2) % 5]);
    s[0] ^= r;
  }
  out[i] = (float)(s[0] ^ s[7] ^ s[24]);
}
