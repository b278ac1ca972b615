// The coefficients in registers: the loop unrolled to 16 with a guard, the first by selects.
__device__ __forceinline__ void horner(const float (&c)[17], int degree, float x, float &value, float &slope) {
  value = c[0];
#pragma unroll
  for (int i = 1; i <= 16; ++i) {
    float held = c[i];
    value = i == degree ? held : value;
  }
  slope = 0.0f;
#pragma unroll
  for (int i = 15; i >= 0; --i) {
    if (i < degree) {
      slope = slope * x + value;
      value = value * x + c[i];
    }
  }
}

extern "C" __global__ void __launch_bounds__(256) newton(const float *in, float *out, int n) {
  int t = blockIdx.x * blockDim.x + threadIdx.x, stride = gridDim.x * blockDim.x;
  float c[17];
#pragma unroll
  for (int i = 0; i <= 16; ++i)
    c[i] = i <= n ? in[i * stride + t] - 0.5f : 0.0f;
  float root = 0.0f, smallest = 1e30f;
#pragma unroll 1
  for (int start = 0; start < 8; ++start) {
    float x = -0.875f + 0.25f * start, value, slope;
#pragma unroll 1
    for (int k = 0; k < 40; ++k) {
      horner(c, n, x, value, slope);
      x -= value / (slope + copysignf(0.01f, slope));
      x = fminf(fmaxf(x, -1.5f), 1.5f);
    }
    horner(c, n, x, value, slope);
    if (fabsf(value) < smallest) {
      smallest = fabsf(value);
      root = x;
    }
  }
  out[t] = root;
}
