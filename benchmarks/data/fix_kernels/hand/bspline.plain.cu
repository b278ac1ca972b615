// The knots in columns of shared memory; weights, left and right in registers, by unrolling to the largest
// degree with a guard.
#define COUNT 12
#define MAX_DEGREE 5

__device__ __forceinline__ void basis(const float *knots, int span, float u, int degree, float (&weights)[MAX_DEGREE + 1]) {
  float left[MAX_DEGREE + 1], right[MAX_DEGREE + 1];
  weights[0] = 1.0f;
#pragma unroll
  for (int j = 1; j <= MAX_DEGREE; ++j) {
    if (j > degree) break;
    left[j] = u - knots[(span + 1 - j) * 256];
    right[j] = knots[(span + j) * 256] - u;
    float saved = 0.0f;
#pragma unroll
    for (int r = 0; r < j; ++r) {
      float part = weights[r] / (right[r + 1] + left[j - r]);
      weights[r] = saved + right[r + 1] * part;
      saved = left[j - r] * part;
    }
    weights[j] = saved;
  }
}

extern "C" __global__ void bspline(const float *in, float *out, int n) {
  __shared__ float columns[(COUNT + MAX_DEGREE + 1) * 256];
  int t = blockIdx.x * blockDim.x + threadIdx.x, stride = gridDim.x * blockDim.x;
  float *knots = columns + threadIdx.x, weights[MAX_DEGREE + 1];
  float knot = 0.0f;
  for (int i = 0; i <= COUNT + n; ++i) {
    knots[i * 256] = knot;
    knot += 0.1f + in[(COUNT + i) * stride + t];
  }
  int span = n;
#pragma unroll 1
  for (int k = 0; k < 24; ++k) {
    float u = knots[n * 256] + (knots[COUNT * 256] - knots[n * 256]) * (k / 24.0f);
    while (span < COUNT - 1 && u >= knots[(span + 1) * 256]) ++span;
    basis(knots, span, u, n, weights);
    float sum = 0.0f;
#pragma unroll
    for (int j = 0; j <= MAX_DEGREE; ++j) {
      if (j > n) break;
      sum += weights[j] * in[(span - n + j) * stride + t];
    }
    out[k * stride + t] = sum;
  }
}
