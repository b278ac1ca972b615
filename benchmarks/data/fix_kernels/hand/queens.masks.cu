// Columns and diagonals as bit masks, the queens' places in the nibbles of one 64-bit register;
// forbidden squares are read again from memory, where a row is coalesced or in a cache.
extern "C" __global__ void queens(const int *in, int *out, int n) {
  __shared__ unsigned short allowed[12][256];
  int t = blockIdx.x * blockDim.x + threadIdx.x, stride = gridDim.x * blockDim.x;
  for (int i = 0; i < n; ++i) {
    int word = in[i * stride + t];
    allowed[i][threadIdx.x] = ~(word & word >> 8) & ((1 << n) - 1);
  }
  unsigned columns = 0, rising = 0, falling = 0;  // rising: column + row; falling: column - row + 16
  unsigned long long path = 0;
  int row = 0, count = 0;
  unsigned open = n > 0 ? allowed[0][threadIdx.x] : 0;
  while (true) {
    if (open) {
      if (row == n - 1) {
        count += __popc(open);
        open = 0;
      } else {
        int column = __ffs(open) - 1;
        columns |= 1u << column;
        rising |= 1u << (column + row);
        falling |= 1u << (column - row + 16);
        path = path << 4 | column;
        ++row;
        open = allowed[row][threadIdx.x] & ~(columns | rising >> row | falling >> (16 - row));
      }
    }
    if (!open) {
      if (row == 0) break;
      int column = (int)path & 15;
      path >>= 4;
      --row;
      columns ^= 1u << column;
      rising ^= 1u << (column + row);
      falling ^= 1u << (column - row + 16);
      open = allowed[row][threadIdx.x] & ~(columns | rising >> row | falling >> (16 - row)) &
             ~((2u << column) - 1);
    }
  }
  out[t] = count;
}
