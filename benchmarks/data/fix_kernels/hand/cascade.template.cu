// A loop for each number of sections, chosen by a switch: all in registers without guards.
template <int N>
__device__ __forceinline__ void run(const float *in, float *out, int t, int stride) {
  float b0[N], b1[N], b2[N], a1[N], a2[N], z1[N], z2[N];
#pragma unroll
  for (int s = 0; s < N; ++s) {
    b0[s] = in[(5 * s) * stride + t];
    b1[s] = in[(5 * s + 1) * stride + t];
    b2[s] = in[(5 * s + 2) * stride + t];
    a1[s] = in[(5 * s + 3) * stride + t] - 0.5f;
    a2[s] = in[(5 * s + 4) * stride + t] * 0.5f;
    z1[s] = z2[s] = 0.0f;
  }
#pragma unroll 4
  for (int k = 0; k < 64; ++k) {
    float x = in[(40 + k) * stride + t];
#pragma unroll
    for (int s = 0; s < N; ++s) {
      float y = b0[s] * x + z1[s];
      z1[s] = b1[s] * x - a1[s] * y + z2[s];
      z2[s] = b2[s] * x - a2[s] * y;
      x = y;
    }
    out[k * stride + t] = x;
  }
}

extern "C" __global__ void __launch_bounds__(256) cascade(const float *in, float *out, int n) {
  int t = blockIdx.x * blockDim.x + threadIdx.x, stride = gridDim.x * blockDim.x;
  switch (n) {
    case 1: return run<1>(in, out, t, stride);
    case 2: return run<2>(in, out, t, stride);
    case 3: return run<3>(in, out, t, stride);
    case 4: return run<4>(in, out, t, stride);
    case 5: return run<5>(in, out, t, stride);
    case 6: return run<6>(in, out, t, stride);
    case 7: return run<7>(in, out, t, stride);
    case 8: return run<8>(in, out, t, stride);
  }
  for (int k = 0; k < 64; ++k) out[k * stride + t] = in[(40 + k) * stride + t];
}
