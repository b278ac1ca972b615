__constant__ const float weights[32] = {1, 5, 2, 8, 3, 7, 4, 6, 9, 12, 11, 10, 15, 13, 14, 16,
                                 6, 2, 7, 1, 8, 3, 9, 4, 5, 11, 10, 12, 14, 15, 13, 17};
extern "C" __global__ void lane_table(const float *in, float *out, int n) {
  int t = blockIdx.x * blockDim.x + threadIdx.x, stride = gridDim.x * blockDim.x;
  float sum = 0.0f;
  for (int k = 0; k < n; ++k) sum += in[k * stride + t] * weights[(threadIdx.x * 5 + k) & 31];
  out[t] = sum;
}
