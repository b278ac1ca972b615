// Both tables in constants that fit in registers: a word for each class, 6 bits for each state
// (the next state, then what to do), and a shift.
#define ENTRY(state, next, action) ((next) | (action) << 3) << (state) * 6
extern "C" __global__ void csv(const int *in, int *out, int n) {
  int t = blockIdx.x * blockDim.x + threadIdx.x, stride = gridDim.x * blockDim.x;
  const unsigned other = ENTRY(0, 1, 0) | ENTRY(1, 1, 0) | ENTRY(2, 2, 0) | ENTRY(3, 4, 4) | ENTRY(4, 4, 0);
  const unsigned comma = ENTRY(0, 0, 1) | ENTRY(1, 0, 1) | ENTRY(2, 2, 0) | ENTRY(3, 0, 1) | ENTRY(4, 4, 0);
  const unsigned line = ENTRY(0, 0, 3) | ENTRY(1, 0, 3) | ENTRY(2, 2, 0) | ENTRY(3, 0, 3) | ENTRY(4, 0, 2);
  const unsigned quote = ENTRY(0, 2, 0) | ENTRY(1, 4, 4) | ENTRY(2, 3, 0) | ENTRY(3, 2, 0) | ENTRY(4, 4, 0);
  int shift = 0, fields = 0, lines = 0, errors = 0;
#pragma unroll 4
  for (int k = 0; k < n; ++k) {
    int word = in[k * stride + t];
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      int letter = word >> (5 * j) & 31;
      unsigned row = letter < 4 ? comma : letter == 4 ? line : letter < 10 ? quote : other;
      unsigned entry = row >> shift;
      fields += entry >> 3 & 1;
      lines += entry >> 4 & 1;
      errors += entry >> 5 & 1;
      shift = (entry & 7) * 6;
    }
  }
  out[t] = fields;
  out[stride + t] = lines;
  out[2 * stride + t] = errors;
}
