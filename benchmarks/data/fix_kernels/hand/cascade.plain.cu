// The sections in registers: the loops over them unrolled to 8, with a guard.
struct Biquad {
  float b0, b1, b2, a1, a2, z1, z2;
};

extern "C" __global__ void __launch_bounds__(256) cascade(const float *in, float *out, int n) {
  int t = blockIdx.x * blockDim.x + threadIdx.x, stride = gridDim.x * blockDim.x;
  Biquad sections[8];
#pragma unroll
  for (int s = 0; s < 8; ++s) {
    if (s >= n) break;
    Biquad *q = &sections[s];
    q->b0 = in[(5 * s) * stride + t];
    q->b1 = in[(5 * s + 1) * stride + t];
    q->b2 = in[(5 * s + 2) * stride + t];
    q->a1 = in[(5 * s + 3) * stride + t] - 0.5f;
    q->a2 = in[(5 * s + 4) * stride + t] * 0.5f;
    q->z1 = q->z2 = 0.0f;
  }
  for (int k = 0; k < 64; ++k) {
    float x = in[(40 + k) * stride + t];
#pragma unroll
    for (int s = 0; s < 8; ++s) {
      if (s >= n) break;
      Biquad &q = sections[s];
      float y = q.b0 * x + q.z1;
      q.z1 = q.b1 * x - q.a1 * y + q.z2;
      q.z2 = q.b2 * x - q.a2 * y;
      x = y;
    }
    out[k * stride + t] = x;
  }
}
