// launch: block=256
// Random gathers from a large array, with their keys kept in a ring.
extern "C" __global__ void gather_local(const int *index, const float *x, float *y, int n, int rows) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= n) return;
  int keys[24] = {};
  float s = 0.f;
  for (int r = 0; r < rows; ++r) {
    int k = index[r * n + t];
    bool seen = false;
    for (int i = 0; i < 24; ++i) seen |= keys[i] == (k & 63);
    if (seen) continue;
    keys[k % 24] = k & 63;
    s += x[k & 0xffffff];
  }
  y[t] = s;
}
