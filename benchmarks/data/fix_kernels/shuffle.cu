// A random permutation of 16 for each step (Fisher and Yates).
extern "C" __global__ void shuffle(const int *in, int *out, int n) {
  int t = blockIdx.x * blockDim.x + threadIdx.x, stride = gridDim.x * blockDim.x;
  unsigned state = t * 747796405u + 1, total = 0;
  for (int k = 0; k < n; ++k) {
    int order[16];
    for (int j = 0; j < 16; ++j) order[j] = j;
    state ^= in[k * stride + t];
    for (int j = 15; j > 0; --j) {
      state = state * 1664525u + 1013904223u;
      int other = (state >> 16) % (j + 1), held = order[j];
      order[j] = order[other];
      order[other] = held;
    }
    total += order[k & 15];
  }
  out[t] = total;
}
