// The value and its step in one word, in columns of shared memory; both ends also in registers.
extern "C" __global__ void deque(const int *in, int *out, int n) {
  __shared__ int queue[16][256];
  int t = blockIdx.x * blockDim.x + threadIdx.x, stride = gridDim.x * blockDim.x, lane = threadIdx.x;
  int front = 0, back = 0, first = 0, last = 0;
#pragma unroll 4
  for (int k = 0; k < 96; ++k) {
    int x = in[k * stride + t], word = x << 7 | k;
    if (back > front && (first & 127) <= k - n) {
      ++front;
      first = queue[front & 15][lane];
    }
    while (back > front && last <= word) {
      --back;
      last = queue[(back - 1) & 15][lane];
    }
    if (back == front) first = word;
    queue[back & 15][lane] = last = word;
    ++back;
    out[k * stride + t] = first >> 7;
  }
}
