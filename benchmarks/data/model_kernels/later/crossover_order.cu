// Order crossover of two tours of 16 cities.
extern "C" __global__ void crossover_order(const int *cut, int *out, int n) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= n) return;
  int a[16], child[16]; unsigned used = 0;
  for (int i = 0; i < 16; ++i) a[i] = (i * 5 + t) & 15;
  int lo = cut[t] & 7, hi = 8 + (cut[t] >> 3 & 7);
  for (int i = lo; i < hi; ++i) { child[i] = a[i]; used |= 1u << a[i]; }
  int at = hi & 15;
  for (int k = 0; k < 16; ++k) {
    int city = (k * 3 + hi) & 15;
    if (used >> city & 1) continue;
    child[at] = city; at = (at + 1) & 15;
  }
  int s = 0;
  for (int i = 0; i < 16; ++i) s = s * 31 + child[i];
  out[t] = s;
}
