// The way back in shared memory, two bits for each state: a byte for each step and thread. The scores in
// registers, by unrolling and a select.
extern "C" __global__ void __launch_bounds__(256) viterbi(const int *in, int *out, int n) {
  __shared__ unsigned char back[64][256];
  int t = blockIdx.x * blockDim.x + threadIdx.x, stride = gridDim.x * blockDim.x, lane = threadIdx.x;
  constexpr int cost[4][4] = {{1, 5, 7, 9}, {6, 2, 4, 8}, {8, 5, 1, 6}, {9, 7, 4, 2}};
  int score[4] = {0, 3, 6, 9};
#pragma unroll 4
  for (int k = 0; k < n; ++k) {
    int seen = in[k * stride + t], next[4], row = 0;
#pragma unroll
    for (int s = 0; s < 4; ++s) {
      int best = score[0] + cost[0][s], from = 0;
#pragma unroll
      for (int p = 1; p < 4; ++p) {
        if (score[p] + cost[p][s] < best) {
          best = score[p] + cost[p][s];
          from = p;
        }
      }
      next[s] = best + (seen >> (5 * s) & 31);
      row |= from << (2 * s);
    }
    back[k][lane] = row;
#pragma unroll
    for (int s = 0; s < 4; ++s) score[s] = next[s];
  }
  int state = 0;
#pragma unroll
  for (int s = 1; s < 4; ++s)
    if (score[s] < (state == 0 ? score[0] : state == 1 ? score[1] : score[2])) state = s;
#pragma unroll 4
  for (int k = n - 1; k >= 0; --k) {
    out[k * stride + t] = state;
    state = back[k][lane] >> (2 * state) & 3;
  }
}
