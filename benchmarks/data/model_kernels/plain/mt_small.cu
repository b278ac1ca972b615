// launch: block=128 draws=96
// A small Mersenne twister with 40 words.
struct Twister {
  unsigned mt[40];
  int at;
  __device__ unsigned next() {
    if (at >= 40) {
      for (int i = 0; i < 40; ++i) {
        unsigned y = (mt[i] & 0x80000000u) | (mt[(i + 1) % 40] & 0x7fffffffu);
        mt[i] = mt[(i + 21) % 40] ^ y >> 1 ^ (y & 1 ? 0x9908b0dfu : 0u);
      }
      at = 0;
    }
    unsigned y = mt[at++];
    y ^= y >> 11; y ^= y << 7 & 0x9d2c5680u; y ^= y << 15 & 0xefc60000u;
    return y ^ y >> 18;
  }
};
extern "C" __global__ void mt_small(unsigned *out, int n, int draws) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= n) return;
  Twister r;
  for (int i = 0; i < 40; ++i) r.mt[i] = (i + 1) * 1814033253u ^ t;
  r.at = 40;
  unsigned s = 0;
  for (int i = 0; i < draws; ++i) s = s * 3 + r.next();
  out[t] = s;
}
