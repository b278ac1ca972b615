// The coefficients in columns of shared memory.
__device__ __forceinline__ void horner(const float *c, int degree, float x, float &value, float &slope) {
  value = c[degree * 256];
  slope = 0.0f;
#pragma unroll 4
  for (int i = degree - 1; i >= 0; --i) {
    slope = slope * x + value;
    value = value * x + c[i * 256];
  }
}

extern "C" __global__ void newton(const float *in, float *out, int n) {
  __shared__ float coefficients[17 * 256];
  int t = blockIdx.x * blockDim.x + threadIdx.x, stride = gridDim.x * blockDim.x;
  float *c = coefficients + threadIdx.x;
  for (int i = 0; i <= n; ++i) c[i * 256] = in[i * stride + t] - 0.5f;
  float root = 0.0f, smallest = 1e30f;
  for (int start = 0; start < 8; ++start) {
    float x = -0.875f + 0.25f * start, value, slope;
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
