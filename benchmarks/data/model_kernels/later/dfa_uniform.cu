// The same table walked by a program that all threads share.
extern "C" __global__ void dfa_uniform(const int *program, const float *x, float *out, int n, int steps) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= n) return;
  float reg[8];
  for (int i = 0; i < 8; ++i) reg[i] = x[i * n + t];
  for (int s = 0; s < steps; ++s) {
    int op = program[s], a = op & 7, b = op >> 3 & 7, d = op >> 6 & 7;
    float u = reg[a], v = reg[b];
    reg[d] = op & 512 ? u * v : u + v;
  }
  out[t] = reg[0] + reg[7];
}
