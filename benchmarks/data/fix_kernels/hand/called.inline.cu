__device__ __forceinline__ float norm(const float *v) {
  float sum = 0.0f;
  for (int j = 0; j < 8; ++j) sum += v[j] * v[j];
  return sqrtf(sum);
}

extern "C" __global__ void called(const float *in, float *out, int n) {
  int t = blockIdx.x * blockDim.x + threadIdx.x, stride = gridDim.x * blockDim.x;
  float v[8];
  for (int j = 0; j < 8; ++j) v[j] = in[j * stride + t];
  float sum = 0.0f;
  for (int k = 0; k < n; ++k) {
    for (int j = 0; j < 8; ++j) v[j] = v[j] * 0.5f + k;
    sum += norm(v);
  }
  out[t] = sum;
}
