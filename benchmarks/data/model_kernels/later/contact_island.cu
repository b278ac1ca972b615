// Impulses of up to eight contacts, iterated in the order of a permutation.
extern "C" __global__ void contact_island(const float *in, const int *order, float *out, int n, int iterations) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= n) return;
  float imp[8], b[8]; float v = 0;
  for (int i = 0; i < 8; ++i) { b[i] = in[i * n + t]; imp[i] = 0; }
  int first = order[t];
  for (int it = 0; it < iterations; ++it)
    for (int k = 0; k < 8; ++k) {
      int c = (k * 3 + first) & 7;
      float d = b[c] - .25f * v, old = imp[c];
      imp[c] = fmaxf(0.f, old + d); v += imp[c] - old;
    }
  out[t] = v;
}
