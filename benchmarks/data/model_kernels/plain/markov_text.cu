// launch: block=256 rows=48
// Counts transitions between 5 classes.
extern "C" __global__ void markov_text(const unsigned char *x, int *out, int n, int rows) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= n) return;
  int m[5][5] = {};
  int last = 0;
  for (int r = 0; r < rows; ++r) { int c = x[r * n + t] % 5; ++m[last][c]; last = c; }
  int s = 0;
  for (int i = 0; i < 5; ++i)
    for (int j = 0; j < 5; ++j) s = s * 3 + m[i][j] * m[j][i];
  out[t] = s;
}
