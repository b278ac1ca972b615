// The knots in columns of shared memory, the rest in registers, by a template of the degree.
#define COUNT 12
template <int DEGREE>
__device__ __forceinline__ void evaluate(const float *in, float *out, float (*knots)[256], int t, int stride) {
  int lane = threadIdx.x, span = DEGREE;
  float first = knots[DEGREE][lane], range = knots[COUNT][lane] - first;
#pragma unroll 1
  for (int k = 0; k < 24; ++k) {
    float u = first + range * (k / 24.0f);
    while (span < COUNT - 1 && u >= knots[span + 1][lane]) ++span;
    float left[DEGREE + 1], right[DEGREE + 1], weights[DEGREE + 1];
    weights[0] = 1.0f;
#pragma unroll
    for (int j = 1; j <= DEGREE; ++j) {
      left[j] = u - knots[span + 1 - j][lane];
      right[j] = knots[span + j][lane] - u;
      float saved = 0.0f;
#pragma unroll
      for (int r = 0; r < j; ++r) {
        float part = weights[r] / (right[r + 1] + left[j - r]);
        weights[r] = saved + right[r + 1] * part;
        saved = left[j - r] * part;
      }
      weights[j] = saved;
    }
    float sum = 0.0f;
#pragma unroll
    for (int j = 0; j <= DEGREE; ++j) sum += weights[j] * in[(span - DEGREE + j) * stride + t];
    out[k * stride + t] = sum;
  }
}

extern "C" __global__ void bspline(const float *in, float *out, int n) {
  __shared__ float knots[COUNT + 6][256];
  int t = blockIdx.x * blockDim.x + threadIdx.x, stride = gridDim.x * blockDim.x;
  float knot = 0.0f;
  for (int i = 0; i <= COUNT + n; ++i) {
    knots[i][threadIdx.x] = knot;
    knot += 0.1f + in[(COUNT + i) * stride + t];
  }
  switch (n) {
    case 0: evaluate<0>(in, out, knots, t, stride); break;
    case 1: evaluate<1>(in, out, knots, t, stride); break;
    case 2: evaluate<2>(in, out, knots, t, stride); break;
    case 3: evaluate<3>(in, out, knots, t, stride); break;
    case 4: evaluate<4>(in, out, knots, t, stride); break;
    case 5: evaluate<5>(in, out, knots, t, stride); break;
  }
}
