// launch: block=256 items=16
// 0/1 knapsack with capacity 40, items of every thread.
extern "C" __global__ void knapsack_small(const int *weight, const int *value, int *best, int n, int items) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= n) return;
  int v[41];
  for (int i = 0; i <= 40; ++i) v[i] = 0;
  for (int k = 0; k < items; ++k) {
    int w = weight[k * n + t] % 12 + 1, x = value[k * n + t] & 63;
    for (int c = 40; c >= w; --c) v[c] = max(v[c], v[c - w] + x);
  }
  best[t] = v[40];
}
