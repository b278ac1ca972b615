// A filter with taps of the thread's own, the delay indexed by the step.
extern "C" __global__ void filter(const float *in, float *out, int n) {
  int t = blockIdx.x * blockDim.x + threadIdx.x, stride = gridDim.x * blockDim.x;
  float taps[8], delay[8];
  for (int j = 0; j < 8; ++j) {
    taps[j] = in[j * stride + t];
    delay[j] = 0.0f;
  }
  for (int k = 0; k < n; ++k) {
    delay[k & 7] = in[k * stride + t];
    float sum = 0.0f;
    for (int j = 0; j < 8; ++j) sum += taps[j] * delay[(k - j) & 7];
    out[k * stride + t] = sum;
  }
}
