// A table that each thread uses once, before a long loop without local memory.
extern "C" __global__ void once(const float *in, float *out, int n) {
  int t = blockIdx.x * blockDim.x + threadIdx.x, stride = gridDim.x * blockDim.x;
  float scale[24];
#pragma unroll
  for (int j = 0; j < 24; ++j) scale[j] = in[j * stride + t];
  int at = int(scale[0] * 1e6f);
  float chosen = scale[at % 24] + scale[(at >> 4) % 24], sum = 0.0f;
  for (int k = 0; k < n; ++k) sum = sum * 0.99f + in[k * stride + t];
  out[t] = sum * chosen;
}
