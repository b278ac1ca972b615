// The ways to place n queens (at most 12) where some squares are forbidden, by backtracking.
__device__ bool safe(const int *column, int row) {
  for (int i = 0; i < row; ++i) {
    int d = column[row] - column[i];
    if (d == 0 || d == row - i || d == i - row) return false;
  }
  return true;
}

extern "C" __global__ void queens(const int *in, int *out, int n) {
  int t = blockIdx.x * blockDim.x + threadIdx.x, stride = gridDim.x * blockDim.x;
  int column[12], forbidden[12];
  for (int i = 0; i < n; ++i) {
    int word = in[i * stride + t];
    forbidden[i] = word & word >> 8;
  }
  int row = 0, count = 0;
  column[0] = -1;
  while (row >= 0) {
    if (++column[row] >= n) {
      --row;
      continue;
    }
    if (forbidden[row] >> column[row] & 1) continue;
    if (!safe(column, row)) continue;
    if (row == n - 1) {
      ++count;
    } else {
      column[++row] = -1;
    }
  }
  out[t] = count;
}
