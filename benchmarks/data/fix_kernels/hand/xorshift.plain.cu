// The state in registers: the loop unrolled 16 times with a guard, so that the place is a constant.
struct Generator {
  unsigned long long s[16];
};

__device__ __forceinline__ void seed(Generator &g, unsigned long long x) {
#pragma unroll
  for (int i = 0; i < 16; ++i) {
    x += 0x9e3779b97f4a7c15ull;
    unsigned long long z = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    g.s[i] = z ^ (z >> 31);
  }
}

__device__ __forceinline__ unsigned long long draw(Generator &g, int p) {
  unsigned long long s0 = g.s[p];
  p = (p + 1) & 15;
  unsigned long long s1 = g.s[p];
  s1 ^= s1 << 31;
  g.s[p] = s1 ^ s0 ^ (s1 >> 11) ^ (s0 >> 30);
  return g.s[p] * 1181783497276652981ull;
}

extern "C" __global__ void __launch_bounds__(256) xorshift(const int *in, int *out, int n) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  Generator g;
  seed(g, in[t]);
  int inside = 0;
  for (int k = 0; k < n; k += 16) {
#pragma unroll
    for (int p = 0; p < 16; ++p) {
      if (k + p >= n) break;
      unsigned long long bits = draw(g, p);
      float x = (unsigned)(bits >> 32) * 2.3283064e-10f, y = (unsigned)bits * 2.3283064e-10f;
      if (x * x + y * y < 1.0f) ++inside;
    }
  }
  out[t] = inside;
}
