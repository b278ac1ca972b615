// Evaluates a shared postfix program with a stack of 16, for few threads.
extern "C" __global__ void stack_small(const int *code, const float *x, float *y, int n, int steps) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= n) return;
  float st[16]; int top = 0; float a = x[t]; st[0] = a;
  for (int i = 0; i < steps; ++i) {
    int op = code[i & 1023] & 3;
    if (op < 2 && top < 15) st[++top] = a + op;
    else if (top > 0) { --top; st[top] = op == 2 ? st[top] * .5f + st[top + 1] : st[top] - st[top + 1] * .25f; }
  }
  y[t] = st[top];
}
void run(const int *code, const float *x, float *y) { stack_small<<<66, 64>>>(code, x, y, 66 * 64, 4000); }
