// The table in columns of shared memory: each thread has its own bank.
#define CAPACITY 31

extern "C" __global__ void knapsack(const int *in, int *out, int n) {
  __shared__ int best[CAPACITY + 1][256];
  int t = blockIdx.x * blockDim.x + threadIdx.x, stride = gridDim.x * blockDim.x, lane = threadIdx.x;
#pragma unroll
  for (int c = 0; c <= CAPACITY; ++c) best[c][lane] = 0;
  for (int k = 0; k < n; ++k) {
    int thing = in[k * stride + t];
    int weight = 1 + (thing & 15), value = thing >> 4 & 1023;
#pragma unroll 4
    for (int c = CAPACITY; c >= weight; --c) {
      int with = best[c - weight][lane] + value;
      if (with > best[c][lane]) best[c][lane] = with;
    }
  }
  out[t] = best[CAPACITY][lane];
}
