// launch: block=256
// Heap sort of 20 doubles.
extern "C" __global__ void heap_sort(const double *in, double *out, int n, int count) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= n) return;
  double h[20];
  for (int i = 0; i < count; ++i) h[i] = in[i * n + t];
  for (int end = count, start = count / 2; end > 1;) {
    double x;
    if (start > 0) x = h[--start];
    else { x = h[--end]; h[end] = h[0]; if (end == 0) break; }
    int i = start, c = 2 * i + 1;
    while (c < end) {
      if (c + 1 < end && h[c + 1] > h[c]) ++c;
      if (h[c] <= x) break;
      h[i] = h[c];
      i = c;
      c = 2 * i + 1;
    }
    h[i] = x;
  }
  for (int i = 0; i < count; ++i) out[i * n + t] = h[i];
}
