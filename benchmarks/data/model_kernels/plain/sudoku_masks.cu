// launch: block=128
// Masks of rows, columns and boxes of a 9x9 board with given digits, and how many cells are forced.
extern "C" __global__ void sudoku_masks(const unsigned char *board, int *forced, int n) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= n) return;
  unsigned short row[9] = {}, col[9] = {}, box[9] = {};
  for (int i = 0; i < 81; ++i) {
    int d = board[i * n + t] & 15;
    if (d > 8) continue;
    int r = i / 9, c = i % 9;
    row[r] |= 1 << d; col[c] |= 1 << d; box[r / 3 * 3 + c / 3] |= 1 << d;
  }
  int sum = 0;
  for (int i = 0; i < 81; ++i) {
    int r = i / 9, c = i % 9;
    if ((board[i * n + t] & 15) <= 8) continue;
    sum += __popc(0x1ff & ~(row[r] | col[c] | box[r / 3 * 3 + c / 3])) == 1;
  }
  forced[t] = sum;
}
