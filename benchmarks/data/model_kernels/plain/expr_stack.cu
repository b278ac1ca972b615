// launch: block=256
// Evaluates postfix expressions, one for the whole grid.
extern "C" __global__ void expr_stack(const unsigned char *ops, const float *x, float *y, int n, int length) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= n) return;
  float st[12];
  int sp = 0;
  for (int i = 0; i < length; ++i) {
    int op = ops[i] & 7;
    if (sp < 2 || (op < 4 && sp < 12)) st[sp++] = x[(i & 15) * n + t];
    else if (op == 4) { --sp; st[sp - 1] += st[sp]; }
    else if (op == 5) { --sp; st[sp - 1] *= st[sp]; }
    else if (op == 6) { --sp; st[sp - 1] = fmaxf(st[sp - 1], st[sp]); }
    else { --sp; st[sp - 1] -= st[sp]; }
  }
  y[t] = st[0];
}
