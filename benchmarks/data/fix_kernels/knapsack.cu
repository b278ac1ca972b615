// The best value of n things (at most 24) that weigh no more than 31 together: a table of each weight.
#define CAPACITY 31

extern "C" __global__ void knapsack(const int *in, int *out, int n) {
  int t = blockIdx.x * blockDim.x + threadIdx.x, stride = gridDim.x * blockDim.x;
  int best[CAPACITY + 1];
  for (int c = 0; c <= CAPACITY; ++c) best[c] = 0;
  for (int k = 0; k < n; ++k) {
    int thing = in[k * stride + t];
    int weight = 1 + (thing & 15), value = thing >> 4 & 1023;
    for (int c = CAPACITY; c >= weight; --c) {
      int with = best[c - weight] + value;
      if (with > best[c]) best[c] = with;
    }
  }
  out[t] = best[CAPACITY];
}
