// Both arrays in registers: the loops of a layer unrolled.
#define WIDTH 32

__device__ __forceinline__ void layer(const float *weights, const float *from, int width, float *to) {
#pragma unroll
  for (int i = 0; i < WIDTH; ++i) {
    float sum = 0.0f;
#pragma unroll
    for (int j = 0; j < width; ++j) sum += (weights[i * width + j] - 0.5f) * from[j];
    to[i] = sum > 0.0f ? sum : 0.01f * sum;
  }
}

extern "C" __global__ void __launch_bounds__(256) mlp(const float *in, float *out, int n) {
  int t = blockIdx.x * blockDim.x + threadIdx.x, stride = gridDim.x * blockDim.x;
  const float *weights = in + 4 * stride;
  float a[WIDTH], b[WIDTH];
#pragma unroll
  for (int i = 0; i < 4; ++i) b[i] = in[i * stride + t];
  layer(weights, b, 4, a);
  weights += 4 * WIDTH;
#pragma unroll 1
  for (int k = 0; k < n; ++k) {
    layer(weights, a, WIDTH, b);
#pragma unroll
    for (int i = 0; i < WIDTH; ++i) a[i] = b[i];
    weights += WIDTH * WIDTH;
  }
  float sum = 0.0f;
#pragma unroll
  for (int i = 0; i < WIDTH; ++i) sum += (weights[i] - 0.5f) * a[i];
  out[t] = sum;
}
