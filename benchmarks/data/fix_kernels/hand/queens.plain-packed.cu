// The columns in a 64-bit register, four bits for each (15 stands for -1); the forbidden squares in
// columns of shared memory.
__device__ __forceinline__ int get(unsigned long long column, int i) { return (int)(column >> (4 * i)) & 15; }

__device__ __forceinline__ void set(unsigned long long &column, int i, int value) {
  column = (column & ~(15ull << (4 * i))) | (unsigned long long)(value & 15) << (4 * i);
}

__device__ __forceinline__ bool safe(unsigned long long column, int row) {
  for (int i = 0; i < row; ++i) {
    int d = get(column, row) - get(column, i);
    if (d == 0 || d == row - i || d == i - row) return false;
  }
  return true;
}

extern "C" __global__ void queens(const int *in, int *out, int n) {
  __shared__ int squares[12 * 256];
  int t = blockIdx.x * blockDim.x + threadIdx.x, stride = gridDim.x * blockDim.x;
  int *forbidden = squares + threadIdx.x;
  unsigned long long column = 0;
  for (int i = 0; i < n; ++i) {
    int word = in[i * stride + t];
    forbidden[i * 256] = word & word >> 8;
  }
  int row = 0, count = 0;
  set(column, 0, -1);
  while (row >= 0) {
    set(column, row, get(column, row) + 1);
    if (get(column, row) >= n) {
      --row;
      continue;
    }
    if (forbidden[row * 256] >> get(column, row) & 1) continue;
    if (!safe(column, row)) continue;
    if (row == n - 1) {
      ++count;
    } else {
      set(column, ++row, -1);
    }
  }
  out[t] = count;
}
