// Entropy of windows of 16 symbols: counts, then their logarithms.
extern "C" __global__ void entropy(const int *in, float *out, int n) {
  int t = blockIdx.x * blockDim.x + threadIdx.x, stride = gridDim.x * blockDim.x;
  float total = 0.0f;
  for (int k = 0; k + 16 <= n; k += 16) {
    int counts[16] = {};
    for (int j = 0; j < 16; ++j) ++counts[in[(k + j) * stride + t] & 15];
    float sum = 0.0f;
    for (int j = 0; j < 16; ++j) {
      float p = counts[j] / 16.0f;
      if (counts[j]) sum -= p * __log2f(p);
    }
    total += sum;
  }
  out[t] = total;
}
