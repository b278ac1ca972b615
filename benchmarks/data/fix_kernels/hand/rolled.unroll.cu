extern "C" __global__ void rolled(const float *in, float *out, int n) {
  int t = blockIdx.x * blockDim.x + threadIdx.x, stride = gridDim.x * blockDim.x;
  float v[48];
#pragma unroll
  for (int j = 0; j < 48; ++j) v[j] = in[j * stride + t];
  for (int k = 0; k < n; ++k) {
    float carry = v[47];
#pragma unroll
    for (int j = 0; j < 48; ++j) {
      carry = carry * 0.5f + v[j];
      v[j] = carry;
    }
  }
  float sum = 0.0f;
#pragma unroll
  for (int j = 0; j < 48; ++j) sum += v[j];
  out[t] = sum;
}
