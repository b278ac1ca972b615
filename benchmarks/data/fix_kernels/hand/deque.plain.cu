// Both arrays in columns of shared memory; the steps (below 96) as bytes, four of a thread to a word.
#define WHEN(i) when[((i) >> 2) * 1024 + ((i) & 3)]
extern "C" __global__ void deque(const int *in, int *out, int n) {
  __shared__ int values[16 * 256];
  __shared__ unsigned words[4][256];
  int t = blockIdx.x * blockDim.x + threadIdx.x, stride = gridDim.x * blockDim.x;
  int *value = values + threadIdx.x;
  unsigned char *when = (unsigned char *)&words[0][threadIdx.x];
  int front = 0, back = 0;
  for (int k = 0; k < 96; ++k) {
    int x = in[k * stride + t];
    if (back > front && WHEN(front & 15) <= k - n) ++front;
    while (back > front && value[((back - 1) & 15) * 256] <= x) --back;
    value[(back & 15) * 256] = x;
    WHEN(back & 15) = k;
    ++back;
    out[k * stride + t] = value[(front & 15) * 256];
  }
}
