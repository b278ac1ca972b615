// launch: block=256
// SHA-256 of one block with a rolled message schedule of 16 words.
__constant__ unsigned K[64] = {0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1};
__device__ unsigned rot(unsigned x, int k) { return x >> k | x << (32 - k); }
extern "C" __global__ void sha_rolled(const unsigned *in, unsigned *out, int n) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= n) return;
  unsigned w[16], h[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  for (int i = 0; i < 16; ++i) w[i] = in[i * n + t];
#pragma unroll 1
  for (int i = 0; i < 64; ++i) {
    unsigned m = w[i & 15];
    unsigned s1 = rot(h[4], 6) ^ rot(h[4], 11) ^ rot(h[4], 25);
    unsigned a = h[7] + s1 + ((h[4] & h[5]) ^ (~h[4] & h[6])) + K[i] + m;
    unsigned b = (rot(h[0], 2) ^ rot(h[0], 13) ^ rot(h[0], 22)) + ((h[0] & h[1]) ^ (h[0] & h[2]) ^ (h[1] & h[2]));
    for (int k = 7; k > 0; --k) h[k] = h[k - 1];
    h[4] += a;
    h[0] = a + b;
    unsigned x = w[(i + 1) & 15], y = w[(i + 14) & 15];
    w[i & 15] = m + (rot(x, 7) ^ rot(x, 18) ^ x >> 3) + w[(i + 9) & 15] + (rot(y, 17) ^ rot(y, 19) ^ y >> 10);
  }
  for (int i = 0; i < 8; ++i) out[i * n + t] = h[i];
}
