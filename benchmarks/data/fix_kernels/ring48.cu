// A delay line of 48 values with two taps: one store and two loads for each step.
extern "C" __global__ void ring48(const float *in, float *out, int n) {
  int t = blockIdx.x * blockDim.x + threadIdx.x, stride = gridDim.x * blockDim.x;
  float line[48];
  for (int j = 0; j < 48; ++j) line[j] = 0.0f;
  int at = 0;
  for (int k = 0; k < n; ++k) {
    float value = in[k * stride + t] + 0.5f * line[at];
    int tap = at + 16;
    if (tap >= 48) tap -= 48;
    out[k * stride + t] = value + line[tap];
    line[at] = value;
    if (++at == 48) at = 0;
  }
}
