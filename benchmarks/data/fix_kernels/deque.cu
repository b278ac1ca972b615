// The largest of the last n values (n at most 16) at each step: a queue with two ends.
extern "C" __global__ void deque(const int *in, int *out, int n) {
  int t = blockIdx.x * blockDim.x + threadIdx.x, stride = gridDim.x * blockDim.x;
  int value[16], when[16], front = 0, back = 0;
  for (int k = 0; k < 96; ++k) {
    int x = in[k * stride + t];
    if (back > front && when[front & 15] <= k - n) ++front;
    while (back > front && value[(back - 1) & 15] <= x) --back;
    value[back & 15] = x;
    when[back & 15] = k;
    ++back;
    out[k * stride + t] = value[front & 15];
  }
}
