// Sixteen draws at a time, so that every place in the state is known: the state is in registers.
extern "C" __global__ void __launch_bounds__(256) xorshift(const int *in, int *out, int n) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned long long s[16], x = (long long)in[t];
#pragma unroll
  for (int i = 0; i < 16; ++i) {
    x += 0x9e3779b97f4a7c15ull;
    unsigned long long z = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    s[i] = z ^ (z >> 31);
  }
  int inside = 0;
  for (int k = 0; k < n; k += 16) {
#pragma unroll
    for (int i = 0; i < 16; ++i) {
      unsigned long long s0 = s[i], s1 = s[(i + 1) & 15];
      s1 ^= s1 << 31;
      s1 ^= s0 ^ (s1 >> 11) ^ (s0 >> 30);
      s[(i + 1) & 15] = s1;
      unsigned long long bits = s1 * 1181783497276652981ull;
      float x = (unsigned)(bits >> 32) * 2.3283064e-10f, y = (unsigned)bits * 2.3283064e-10f;
      if (x * x + y * y < 1.0f && k + i < n) ++inside;
    }
  }
  out[t] = inside;
}
