// A table automaton over bytes; its rows are local constants.
extern "C" __global__ void dfa_scan(const unsigned char *text, int *out, int n, int length) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= n) return;
  const unsigned char next[8][4] = {{1, 0, 2, 0}, {1, 3, 2, 0}, {4, 0, 2, 5}, {1, 6, 0, 0}, {1, 3, 7, 0}, {0, 0, 2, 6}, {4, 0, 7, 0}, {7, 7, 0, 1}};
  int s = 0, hits = 0;
  for (int i = 0; i < length; ++i) { s = next[s][text[i * n + t] & 3]; hits += s == 7; }
  out[t] = hits;
}
