// Sobol points from direction numbers that each thread computes.
extern "C" __global__ void sobol_directions(const unsigned *m, float *out, int n, int points) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= n) return;
  unsigned v[32]; unsigned p = m[t] | 1;
  for (int i = 0; i < 32; ++i) v[i] = i < 3 ? p << (31 - i) : v[i - 3] ^ v[i - 3] >> 3 ^ (p >> 1 & 1 ? v[i - 1] : 0) ^ v[i - 2];
  unsigned x = 0; float s = 0;
  for (int k = 0; k < points; ++k) { x ^= v[__ffs(~k) - 1]; s += x * 2.3283064e-10f; }
  out[t] = s;
}
