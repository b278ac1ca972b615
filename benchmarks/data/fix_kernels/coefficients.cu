// Polynomials whose coefficients a step chooses, the same for all threads.
extern "C" __global__ void coefficients(const float *in, float *out, int n) {
  int t = blockIdx.x * blockDim.x + threadIdx.x, stride = gridDim.x * blockDim.x;
  const float c[16] = {1, -2, 3, -4, 5, -6, 7, -8, 9, -10, 11, -12, 13, -14, 15, -16};
  float sum = 0.0f;
  for (int k = 0; k < n; ++k) {
    float x = in[k * stride + t];
    int at = (k * k) & 15;
    sum += c[at] + x * (c[(at + 1) & 15] + x * c[(at + 2) & 15]);
  }
  out[t] = sum;
}
