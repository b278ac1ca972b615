// Pi by random points: the generator (xorshift1024*) is a structure that is passed by reference.
struct Generator {
  unsigned long long s[16];
  int p;
};

__device__ void seed(Generator &g, unsigned long long x) {
  for (int i = 0; i < 16; ++i) {
    x += 0x9e3779b97f4a7c15ull;
    unsigned long long z = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    g.s[i] = z ^ (z >> 31);
  }
  g.p = 0;
}

__device__ unsigned long long draw(Generator &g) {
  unsigned long long s0 = g.s[g.p];
  g.p = (g.p + 1) & 15;
  unsigned long long s1 = g.s[g.p];
  s1 ^= s1 << 31;
  g.s[g.p] = s1 ^ s0 ^ (s1 >> 11) ^ (s0 >> 30);
  return g.s[g.p] * 1181783497276652981ull;
}

extern "C" __global__ void xorshift(const int *in, int *out, int n) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  Generator g;
  seed(g, in[t]);
  int inside = 0;
  for (int k = 0; k < n; ++k) {
    unsigned long long bits = draw(g);
    float x = (unsigned)(bits >> 32) * 2.3283064e-10f, y = (unsigned)bits * 2.3283064e-10f;
    if (x * x + y * y < 1.0f) ++inside;
  }
  out[t] = inside;
}
