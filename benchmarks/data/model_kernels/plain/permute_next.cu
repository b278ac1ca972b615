// launch: block=256 steps=48
// Steps through permutations of 8 and folds them.
extern "C" __global__ void permute_next(const int *seed, int *out, int n, int steps) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= n) return;
  int p[8];
  for (int i = 0; i < 8; ++i) p[i] = i;
  int k0 = seed[t] & 7, s = p[0]; p[0] = p[k0]; p[k0] = s;
  int sum = 0;
  for (int r = 0; r < steps; ++r) {
    int i = 6;
    while (i >= 0 && p[i] > p[i + 1]) --i;
    if (i < 0) break;
    int j = 7;
    while (p[j] < p[i]) --j;
    s = p[i]; p[i] = p[j]; p[j] = s;
    for (int a = i + 1, b = 7; a < b; ++a, --b) { s = p[a]; p[a] = p[b]; p[b] = s; }
    sum = sum * 5 + p[r & 7];
  }
  out[t] = sum;
}
