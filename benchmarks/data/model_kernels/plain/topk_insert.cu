// launch: block=256 rows=64
// The 12 least distances of each query with their indices, by insertion.
extern "C" __global__ void topk_insert(const float *d, int *index, int n, int rows) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= n) return;
  float key[12];
  int id[12];
  for (int i = 0; i < 12; ++i) { key[i] = 1e30f; id[i] = -1; }
  for (int r = 0; r < rows; ++r) {
    float v = d[r * n + t];
    if (v >= key[11]) continue;
    int i = 11;
    while (i > 0 && key[i - 1] > v) { key[i] = key[i - 1]; id[i] = id[i - 1]; --i; }
    key[i] = v;
    id[i] = r;
  }
  for (int i = 0; i < 12; ++i) index[i * n + t] = id[i];
}
