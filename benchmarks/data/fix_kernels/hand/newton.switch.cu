// Seventeen coefficients in registers; a switch that is the same for all threads jumps into the
// unrolled recurrence at the degree. The first step, from zeros, only takes the coefficient.
#define STEP(i)                \
  case i:                      \
    slope = slope * x + value; \
    value = value * x + c[i];

__device__ __forceinline__ void horner(const float (&c)[17], int degree, float x, float &value,
                                       float &slope) {
  value = 0.0f;
  slope = 0.0f;
  switch (degree) {
    STEP(16) STEP(15) STEP(14) STEP(13) STEP(12) STEP(11) STEP(10) STEP(9) STEP(8)
    STEP(7) STEP(6) STEP(5) STEP(4) STEP(3) STEP(2) STEP(1) STEP(0)
  }
}

extern "C" __global__ void __launch_bounds__(256) newton(const float *in, float *out, int n) {
  int t = blockIdx.x * blockDim.x + threadIdx.x, stride = gridDim.x * blockDim.x;
  float c[17];
#pragma unroll
  for (int i = 0; i <= 16; ++i) c[i] = i <= n ? in[i * stride + t] - 0.5f : 0.0f;
  float root = 0.0f, smallest = 1e30f;
#pragma unroll 1
  for (int start = 0; start < 8; ++start) {
    float x = -0.875f + 0.25f * start, value, slope;
#pragma unroll 1
    for (int k = 0; k <= 40; ++k) {
      horner(c, n, x, value, slope);
      if (k == 40) break;
      x -= value / (slope + copysignf(0.01f, slope));
      x = fminf(fmaxf(x, -1.5f), 1.5f);
    }
    if (fabsf(value) < smallest) {
      smallest = fabsf(value);
      root = x;
    }
  }
  out[t] = root;
}
