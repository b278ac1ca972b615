// The likeliest path through a hidden Markov model of 4 states (n at most 64).
extern "C" __global__ void viterbi(const int *in, int *out, int n) {
  int t = blockIdx.x * blockDim.x + threadIdx.x, stride = gridDim.x * blockDim.x;
  const int cost[4][4] = {{1, 5, 7, 9}, {6, 2, 4, 8}, {8, 5, 1, 6}, {9, 7, 4, 2}};
  int score[4] = {0, 3, 6, 9};
  unsigned char back[64][4];
  for (int k = 0; k < n; ++k) {
    int seen = in[k * stride + t], next[4];
    for (int s = 0; s < 4; ++s) {
      int best = score[0] + cost[0][s], from = 0;
      for (int p = 1; p < 4; ++p) {
        if (score[p] + cost[p][s] < best) {
          best = score[p] + cost[p][s];
          from = p;
        }
      }
      next[s] = best + (seen >> (5 * s) & 31);
      back[k][s] = from;
    }
    for (int s = 0; s < 4; ++s) score[s] = next[s];
  }
  int state = 0;
  for (int s = 1; s < 4; ++s)
    if (score[s] < score[state]) state = s;
  for (int k = n - 1; k >= 0; --k) {
    out[k * stride + t] = state;
    state = back[k][state];
  }
}
