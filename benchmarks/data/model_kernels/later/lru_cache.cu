// Hits in a cache of eight tags with least-recently-used replacement.
extern "C" __global__ void lru_cache(const int *trace, int *out, int n, int length) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= n) return;
  int tag[8]; int hits = 0;
  for (int i = 0; i < 8; ++i) tag[i] = -1;
  for (int k = 0; k < length; ++k) {
    int a = trace[k * n + t] & 15, at = 7;
    for (int i = 0; i < 8; ++i) if (tag[i] == a) { at = i; ++hits; break; }
    for (int i = at; i > 0; --i) tag[i] = tag[i - 1];
    tag[0] = a;
  }
  out[t] = hits;
}
