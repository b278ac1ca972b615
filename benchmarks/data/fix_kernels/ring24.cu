// A delay line of 24 values with two taps: one store and two loads for each step.
extern "C" __global__ void ring24(const float *in, float *out, int n) {
  int t = blockIdx.x * blockDim.x + threadIdx.x, stride = gridDim.x * blockDim.x;
  float line[24];
  for (int j = 0; j < 24; ++j) line[j] = 0.0f;
  int at = 0;
  for (int k = 0; k < n; ++k) {
    float value = in[k * stride + t] + 0.5f * line[at];
    int tap = at + 8;
    if (tap >= 24) tap -= 24;
    out[k * stride + t] = value + line[tap];
    line[at] = value;
    if (++at == 24) at = 0;
  }
}
