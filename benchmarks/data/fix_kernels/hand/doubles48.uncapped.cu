extern "C" __global__ void __launch_bounds__(256)
    doubles48(const double *in, double *out, int n) {
  int t = blockIdx.x * blockDim.x + threadIdx.x, stride = gridDim.x * blockDim.x;
  double v[30];
#pragma unroll
  for (int i = 0; i < 30; ++i) v[i] = in[i * stride + t];
  for (int k = 0; k < n; ++k) {
#pragma unroll
    for (int i = 0; i < 30; ++i) v[i] = v[i] * v[(i + 7) % 30] + v[(i + 13) % 30];
  }
  double sum = 0.0;
#pragma unroll
  for (int i = 0; i < 30; ++i) sum += v[i];
  out[t] = sum;
}
