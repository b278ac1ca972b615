// The coefficients in registers: a version for each degree, so that the bounds are constants and the loops
// over the coefficients are unrolled.
template <int DEGREE>
__device__ __forceinline__ void horner(const float (&c)[DEGREE + 1], float x, float &value, float &slope) {
  value = c[DEGREE];
  slope = 0.0f;
#pragma unroll
  for (int i = DEGREE - 1; i >= 0; --i) {
    slope = slope * x + value;
    value = value * x + c[i];
  }
}

template <int DEGREE>
__device__ __forceinline__ void find(const float *in, float *out, int t, int stride) {
  float c[DEGREE + 1];
#pragma unroll
  for (int i = 0; i <= DEGREE; ++i) c[i] = in[i * stride + t] - 0.5f;
  float root = 0.0f, smallest = 1e30f;
#pragma unroll 1
  for (int start = 0; start < 8; ++start) {
    float x = -0.875f + 0.25f * start, value, slope;
#pragma unroll 1
    for (int k = 0; k < 40; ++k) {
      horner<DEGREE>(c, x, value, slope);
      x -= value / (slope + copysignf(0.01f, slope));
      x = fminf(fmaxf(x, -1.5f), 1.5f);
    }
    horner<DEGREE>(c, x, value, slope);
    if (fabsf(value) < smallest) {
      smallest = fabsf(value);
      root = x;
    }
  }
  out[t] = root;
}

extern "C" __global__ void __launch_bounds__(256) newton(const float *in, float *out, int n) {
  int t = blockIdx.x * blockDim.x + threadIdx.x, stride = gridDim.x * blockDim.x;
#define CASE(i) case i: return find<i>(in, out, t, stride);
  switch (n) {
    CASE(0) CASE(1) CASE(2) CASE(3) CASE(4) CASE(5) CASE(6) CASE(7) CASE(8)
    CASE(9) CASE(10) CASE(11) CASE(12) CASE(13) CASE(14) CASE(15) CASE(16)
  }
}
