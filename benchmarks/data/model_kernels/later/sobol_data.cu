// As in sobol_directions, but the data say which direction.
extern "C" __global__ void sobol_data(const unsigned *m, float *out, int n, int points) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= n) return;
  unsigned v[32]; unsigned p = m[t] | 1;
  for (int i = 0; i < 32; ++i) v[i] = p * (2 * i + 1);
  unsigned x = p; float s = 0;
  for (int k = 0; k < points; ++k) { x ^= v[x >> 27]; s += x * 2.3283064e-10f; }
  out[t] = s;
}
