// Activations in registers, layers unrolled, weights staged in shared memory (less a half) layer by
// layer and read four at a time: all lanes the same word.
#define WIDTH 32

extern "C" __global__ void __launch_bounds__(256) mlp(const float *in, float *out, int n) {
  __shared__ float4 staged[WIDTH * WIDTH / 4];
  int t = blockIdx.x * blockDim.x + threadIdx.x, stride = gridDim.x * blockDim.x;
  const float *weights = in + 4 * stride;
  float a[WIDTH], b[WIDTH];
#pragma unroll
  for (int i = 0; i < 4; ++i) b[i] = in[i * stride + t];
#pragma unroll
  for (int i = 0; i < WIDTH; ++i) {
    float sum = 0.0f;
#pragma unroll
    for (int j = 0; j < 4; ++j) sum += (weights[i * 4 + j] - 0.5f) * b[j];
    a[i] = sum > 0.0f ? sum : 0.01f * sum;
  }
  weights += 4 * WIDTH;
#pragma unroll 1
  for (int k = 0; k < n; ++k) {
    __syncthreads();
    for (int i = threadIdx.x; i < WIDTH * WIDTH / 4; i += blockDim.x)
      staged[i] = make_float4(weights[4 * i] - 0.5f, weights[4 * i + 1] - 0.5f,
                              weights[4 * i + 2] - 0.5f, weights[4 * i + 3] - 0.5f);
    __syncthreads();
#pragma unroll
    for (int i = 0; i < WIDTH; ++i) {
      float sum = 0.0f;
#pragma unroll
      for (int j = 0; j < WIDTH / 4; ++j) {
        float4 w = staged[i * WIDTH / 4 + j];
        sum += w.x * a[4 * j];
        sum += w.y * a[4 * j + 1];
        sum += w.z * a[4 * j + 2];
        sum += w.w * a[4 * j + 3];
      }
      b[i] = sum > 0.0f ? sum : 0.01f * sum;
    }
#pragma unroll
    for (int i = 0; i < WIDTH; ++i) a[i] = b[i];
    weights += WIDTH * WIDTH;
  }
  float sum = 0.0f;
#pragma unroll
  for (int i = 0; i < WIDTH; ++i) sum += (weights[i] - 0.5f) * a[i];
  out[t] = sum;
}
