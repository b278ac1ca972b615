// Both arrays in columns of shared memory.
__device__ __forceinline__ bool safe(const int *column, int row) {
  for (int i = 0; i < row; ++i) {
    int d = column[row * 256] - column[i * 256];
    if (d == 0 || d == row - i || d == i - row) return false;
  }
  return true;
}

extern "C" __global__ void queens(const int *in, int *out, int n) {
  __shared__ int columns[12 * 256], squares[12 * 256];
  int t = blockIdx.x * blockDim.x + threadIdx.x, stride = gridDim.x * blockDim.x;
  int *column = columns + threadIdx.x, *forbidden = squares + threadIdx.x;
  for (int i = 0; i < n; ++i) {
    int word = in[i * stride + t];
    forbidden[i * 256] = word & word >> 8;
  }
  int row = 0, count = 0;
  column[0] = -1;
  while (row >= 0) {
    if (++column[row * 256] >= n) {
      --row;
      continue;
    }
    if (forbidden[row * 256] >> column[row * 256] & 1) continue;
    if (!safe(column, row)) continue;
    if (row == n - 1) {
      ++count;
    } else {
      column[++row * 256] = -1;
    }
  }
  out[t] = count;
}
