// launch: block=256
// Edit distance within a band of 25 diagonals.
extern "C" __global__ void edit_bands(const int *a, const int *b, int *out, int n, int rows) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= n) return;
  int d[25], e[25];
  for (int k = 0; k < 25; ++k) d[k] = k < 12 ? 99 : k - 12;
  for (int i = 0; i < rows; ++i) {
    int c = a[i * n + t] & 7;
    for (int k = 0; k < 25; ++k) {
      int j = i + k - 12;
      int v = d[k] + (j < 0 || c != (b[max(j, 0) * n + t] & 7));
      if (k > 0) v = min(v, e[k - 1] + 1);
      if (k < 24) v = min(v, d[k + 1] + 1);
      e[k] = v;
    }
    for (int k = 0; k < 25; ++k) d[k] = e[k];
  }
  out[t] = d[b[t] % 25];
}
