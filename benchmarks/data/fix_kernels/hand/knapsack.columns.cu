// The table in columns of shared memory, a word to a weight, so that each thread has its own bank.
extern "C" __global__ void __launch_bounds__(256) knapsack(const int *in, int *out, int n) {
  __shared__ int best[32][256];
  int t = blockIdx.x * blockDim.x + threadIdx.x, stride = gridDim.x * blockDim.x, lane = threadIdx.x;
#pragma unroll
  for (int c = 0; c < 32; ++c) best[c][lane] = 0;
  for (int k = 0; k < n; ++k) {
    int thing = in[k * stride + t];
    int weight = 1 + (thing & 15), value = thing >> 4 & 1023;
    for (int c = 31; c >= weight; --c) best[c][lane] = max(best[c][lane], best[c - weight][lane] + value);
  }
  out[t] = best[31][lane];
}
