// Each table in a 64-bit constant: three bits (an octal digit) for an element, the first at the right.
extern "C" __global__ void csv(const int *in, int *out, int n) {
  int t = blockIdx.x * blockDim.x + threadIdx.x, stride = gridDim.x * blockDim.x;
  // States: start of a field, in a field, in quotes, quote in quotes, error.
  // Classes: other, comma, newline, quote.
  const unsigned long long next = 040442004322240012001ull, action = 002000314000043100310ull;
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
      int at = 12 * state + 3 * kind;
      int what = (int)(action >> at) & 7;
      if (what & 1) ++fields;
      if (what & 2) ++lines;
      if (what & 4) ++errors;
      state = (int)(next >> at) & 7;
    }
  }
  out[t] = fields;
  out[stride + t] = lines;
  out[2 * stride + t] = errors;
}
