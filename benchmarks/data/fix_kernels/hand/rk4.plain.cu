// All in registers: the loops over the variables and over the stages unrolled.
#define N 40

__device__ __forceinline__ void derivative(const float (&y)[N], float (&dy)[N]) {
#pragma unroll
  for (int i = 0; i < N; ++i)
    dy[i] = (y[(i + 1) % N] - y[(i + N - 2) % N]) * y[(i + N - 1) % N] - y[i] + 8.0f;
}

extern "C" __global__ void __launch_bounds__(128) rk4(const float *in, float *out, int n) {
  int t = blockIdx.x * blockDim.x + threadIdx.x, stride = gridDim.x * blockDim.x;
  const float h = 0.01f, step[4] = {0.0f, 0.5f, 0.5f, 1.0f};
  float y[N], temp[N], k[4][N];
#pragma unroll
  for (int i = 0; i < N; ++i) y[i] = 8.0f + in[i * stride + t];
#pragma unroll 1
  for (int m = 0; m < n; ++m) {
#pragma unroll
    for (int s = 0; s < 4; ++s) {
#pragma unroll
      for (int i = 0; i < N; ++i) temp[i] = s == 0 ? y[i] : y[i] + h * step[s] * k[s > 0 ? s - 1 : 0][i];
      derivative(temp, k[s]);
    }
#pragma unroll
    for (int i = 0; i < N; ++i)
      y[i] += h / 6.0f * (k[0][i] + 2.0f * k[1][i] + 2.0f * k[2][i] + k[3][i]);
  }
#pragma unroll
  for (int i = 0; i < N; ++i) out[i * stride + t] = y[i];
}
