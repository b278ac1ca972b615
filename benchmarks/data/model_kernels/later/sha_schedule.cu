// The message schedule of SHA-256 as a ring of 16 words, and a short mix of it.
__device__ unsigned rotr(unsigned x, int k) { return x >> k | x << (32 - k); }
extern "C" __global__ void sha_schedule(const unsigned *in, unsigned *out, int n, int rounds) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= n) return;
  unsigned w[16], h = 0x6a09e667u;
  for (int i = 0; i < 16; ++i) w[i] = in[i * n + t];
  for (int r = 0; r < rounds; ++r) {
    unsigned a = w[(r + 1) & 15], b = w[(r + 14) & 15];
    unsigned x = w[r & 15] + (rotr(a, 7) ^ rotr(a, 18) ^ a >> 3) + w[(r + 9) & 15] + (rotr(b, 17) ^ rotr(b, 19) ^ b >> 10);
    w[r & 15] = x;
    h = rotr(h, 5) + (x ^ h * 3);
  }
  out[t] = h;
}
