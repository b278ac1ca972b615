// The k-th smallest of 21 values by partitioning in place.
extern "C" __global__ void quick_select(const float *in, float *out, int n, int k) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= n) return;
  float v[21];
  for (int i = 0; i < 21; ++i) v[i] = in[i * n + t];
  int lo = 0, hi = 20;
  while (lo < hi) {
    float pivot = v[(lo + hi) >> 1]; int i = lo, j = hi;
    do {
      while (v[i] < pivot) ++i;
      while (v[j] > pivot) --j;
      if (i <= j) { float s = v[i]; v[i] = v[j]; v[j] = s; ++i; --j; }
    } while (i <= j);
    if (k <= j) hi = j; else if (k >= i) lo = i; else break;
  }
  out[t] = v[k];
}
