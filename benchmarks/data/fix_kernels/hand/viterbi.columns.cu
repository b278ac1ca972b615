// Two bits for each state, a byte for a step, four steps to a word in a column of shared memory.
#define STEP(k)                                                                              \
  int seen = in[(k) * stride + t], next[4];                                                  \
  unsigned byte = 0;                                                                         \
  _Pragma("unroll") for (int s = 0; s < 4; ++s) {                                            \
    int best = score[0] + cost[0][s], from = 0;                                              \
    _Pragma("unroll") for (int p = 1; p < 4; ++p) {                                          \
      int other = score[p] + cost[p][s];                                                     \
      from = other < best ? p : from;                                                        \
      best = min(best, other);                                                               \
    }                                                                                        \
    next[s] = best + (seen >> (5 * s) & 31);                                                 \
    byte |= from << 2 * s;                                                                   \
  }                                                                                          \
  _Pragma("unroll") for (int s = 0; s < 4; ++s) score[s] = next[s];

extern "C" __global__ void __launch_bounds__(256) viterbi(const int *in, int *out, int n) {
  __shared__ unsigned words[16 * 256];
  int t = blockIdx.x * blockDim.x + threadIdx.x, stride = gridDim.x * blockDim.x;
  constexpr int cost[4][4] = {{1, 5, 7, 9}, {6, 2, 4, 8}, {8, 5, 1, 6}, {9, 7, 4, 2}};
  unsigned *back = words + threadIdx.x;
  int score[4] = {0, 3, 6, 9};
  for (int k = 0; k < n; k += 4) {
    unsigned word = 0;
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      if (k + j < n) {
        STEP(k + j)
        word |= byte << 8 * j;
      }
    }
    back[(k >> 2) * 256] = word;
  }
  int state = 0, best = score[0];
#pragma unroll
  for (int s = 1; s < 4; ++s) {
    state = score[s] < best ? s : state;
    best = min(best, score[s]);
  }
  for (int k = (n - 1) & ~3; k >= 0; k -= 4) {
    unsigned word = back[(k >> 2) * 256];
#pragma unroll
    for (int j = 3; j >= 0; --j) {
      if (k + j < n) {
        out[(k + j) * stride + t] = state;
        state = word >> (8 * j + 2 * state) & 3;
      }
    }
  }
}
