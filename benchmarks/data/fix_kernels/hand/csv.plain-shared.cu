// Both tables in shared memory, once for the block: a row is a word, so that no two rows share a bank.
extern "C" __global__ void csv(const int *in, int *out, int n) {
  int t = blockIdx.x * blockDim.x + threadIdx.x, stride = gridDim.x * blockDim.x;
  // States: start of a field, in a field, in quotes, quote in quotes, error.
  // Classes: other, comma, newline, quote.
  __shared__ uchar4 next[5], action[5];
  if (threadIdx.x == 0) {
    next[0] = make_uchar4(1, 0, 0, 2);
    next[1] = make_uchar4(1, 0, 0, 4);
    next[2] = make_uchar4(2, 2, 2, 3);
    next[3] = make_uchar4(4, 0, 0, 2);
    next[4] = make_uchar4(4, 4, 0, 4);
    action[0] = make_uchar4(0, 1, 3, 0);
    action[1] = make_uchar4(0, 1, 3, 4);
    action[2] = make_uchar4(0, 0, 0, 0);
    action[3] = make_uchar4(4, 1, 3, 0);
    action[4] = make_uchar4(0, 0, 2, 0);
  }
  __syncthreads();
  const unsigned char *nexts = (const unsigned char *)next, *actions = (const unsigned char *)action;
  int state = 0, fields = 0, lines = 0, errors = 0;
#pragma unroll 4
  for (int k = 0; k < n; ++k) {
    int word = in[k * stride + t];
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      int letter = word >> (5 * j) & 31, kind = 0;
      if (letter < 4) kind = 1;
      else if (letter == 4) kind = 2;
      else if (letter < 10) kind = 3;
      int what = actions[4 * state + kind];
      if (what & 1) ++fields;
      if (what & 2) ++lines;
      if (what & 4) ++errors;
      state = nexts[4 * state + kind];
    }
  }
  out[t] = fields;
  out[stride + t] = lines;
  out[2 * stride + t] = errors;
}
