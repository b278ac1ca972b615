// SHA-256, four times over one block.
// threads: n
__device__ unsigned rr(unsigned x, int c) { return (x >> c) | (x << (32 - c)); }
__global__ void k(float *out, const float *in, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x; if (i >= n) return;
  unsigned w[16], h[8];
#pragma unroll
  for (int j = 0; j < 16; ++j) w[j] = __float_as_uint(in[(i + j * 1031) % n]);
#pragma unroll
  for (int j = 0; j < 8; ++j) h[j] = 0x6a09e667u * (j + 1);
  for (int rep = 0; rep < 4; ++rep) {
  unsigned a = h[0], b = h[1], c = h[2], d = h[3], e = h[4], f = h[5], g = h[6], v = h[7];
#pragma unroll
  for (int t = 0; t < 64; ++t) {
    unsigned x = w[t & 15];
    if (t >= 16) { unsigned s0 = w[(t + 1) & 15], s1 = w[(t + 14) & 15];
      x += w[(t + 9) & 15] + (rr(s0, 7) ^ rr(s0, 18) ^ (s0 >> 3)) + (rr(s1, 17) ^ rr(s1, 19) ^ (s1 >> 10)); w[t & 15] = x; }
    unsigned t1 = v + (rr(e, 6) ^ rr(e, 11) ^ rr(e, 25)) + ((e & f) ^ (~e & g)) + 0x428a2f98u * (t + 1) + x;
    unsigned t2 = (rr(a, 2) ^ rr(a, 13) ^ rr(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
    v = g; g = f; f = e; e = d + t1; d = c; c = b; b = a; a = t1 + t2;
  }
  h[0] += a; h[1] += b; h[2] += c; h[3] += d; h[4] += e; h[5] += f; h[6] += g; h[7] += v;
  }
  out[i] = __uint_as_float(h[0] ^ h[3] ^ h[7]);
}
