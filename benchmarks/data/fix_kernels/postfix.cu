// A stack machine: every word pushes a number, or adds, or multiplies the two on top.
#define PUSH(value) stack[top++] = (value)
#define POP() stack[--top]

extern "C" __global__ void postfix(const int *in, int *out, int n) {
  int t = blockIdx.x * blockDim.x + threadIdx.x, stride = gridDim.x * blockDim.x;
  int stack[20], top = 0;
  PUSH(1);
  for (int k = 0; k < n; ++k) {
    int word = in[k * stride + t] & 1023;
    if (top < 2 || (word & 3) < 2 && top < 20) {
      PUSH(word >> 2);
    } else {
      int right = POP(), left = POP();
      PUSH(word & 1 ? left + right : left * right);
    }
  }
  int total = 0;
  while (top > 0) total += POP();
  out[t] = total;
}
