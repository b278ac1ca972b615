// The stack in columns of shared memory, its top in a register.
extern "C" __global__ void postfix(const int *in, int *out, int n) {
  __shared__ int stack[20][256];
  int t = blockIdx.x * blockDim.x + threadIdx.x, stride = gridDim.x * blockDim.x;
  int lane = threadIdx.x, below = 0, last = 1;
  for (int k = 0; k < n; ++k) {
    int word = in[k * stride + t] & 1023;
    if (below < 1 || (word & 3) < 2 && below < 19) {
      stack[below++][lane] = last;
      last = word >> 2;
    } else {
      int left = stack[--below][lane];
      last = word & 1 ? left + last : left * last;
    }
  }
  int total = last;
  while (below > 0) total += stack[--below][lane];
  out[t] = total;
}
