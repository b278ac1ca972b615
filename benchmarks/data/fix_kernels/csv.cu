// Scanning CSV text with a state machine: the fields and rows that are complete, and the errors.
extern "C" __global__ void csv(const int *in, int *out, int n) {
  int t = blockIdx.x * blockDim.x + threadIdx.x, stride = gridDim.x * blockDim.x;
  // States: start of a field, in a field, in quotes, quote in quotes, error.
  // Classes: other, comma, newline, quote.
  const unsigned char next[5][4] = {
      {1, 0, 0, 2}, {1, 0, 0, 4}, {2, 2, 2, 3}, {4, 0, 0, 2}, {4, 4, 0, 4}};
  const unsigned char action[5][4] = {
      {0, 1, 3, 0}, {0, 1, 3, 4}, {0, 0, 0, 0}, {4, 1, 3, 0}, {0, 0, 2, 0}};
  int state = 0, fields = 0, lines = 0, errors = 0;
  for (int k = 0; k < n; ++k) {
    int word = in[k * stride + t];
    for (int j = 0; j < 4; ++j) {
      int letter = word >> (5 * j) & 31, kind = 0;
      if (letter < 4) kind = 1;
      else if (letter == 4) kind = 2;
      else if (letter < 10) kind = 3;
      int what = action[state][kind];
      if (what & 1) ++fields;
      if (what & 2) ++lines;
      if (what & 4) ++errors;
      state = next[state][kind];
    }
  }
  out[t] = fields;
  out[stride + t] = lines;
  out[2 * stride + t] = errors;
}
