// A generator with eleven words of state that is indexed, for few threads.
extern "C" __global__ void xs_small(const unsigned *seed, unsigned *out, int n, int draws) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= n) return;
  unsigned s[11]; unsigned x = seed[t] | 1, h = 0;
  for (int i = 0; i < 11; ++i) { x = x * 1664525u + 1013904223u; s[i] = x; }
  int p = 0;
  for (int d = 0; d < draws; ++d) { unsigned a = s[p]; p = p == 10 ? 0 : p + 1; unsigned b = s[p]; b ^= b << 9; s[p] = a ^ b ^ a >> 7; h += s[(h >> 5) % 11]; }
  out[t] = h;
}
void run(const unsigned *seed, unsigned *out) { xs_small<<<132, 64>>>(seed, out, 132 * 64, 3000); }
