// Points of a spline of degree n (at most 5) with 12 coefficients and knots of the thread's own, by the
// basis functions that are not zero.
#define COUNT 12
#define MAX_DEGREE 5

__device__ void basis(const float *knots, int span, float u, int degree, float *weights) {
  float left[MAX_DEGREE + 1], right[MAX_DEGREE + 1];
  weights[0] = 1.0f;
  for (int j = 1; j <= degree; ++j) {
    left[j] = u - knots[span + 1 - j];
    right[j] = knots[span + j] - u;
    float saved = 0.0f;
    for (int r = 0; r < j; ++r) {
      float part = weights[r] / (right[r + 1] + left[j - r]);
      weights[r] = saved + right[r + 1] * part;
      saved = left[j - r] * part;
    }
    weights[j] = saved;
  }
}

extern "C" __global__ void bspline(const float *in, float *out, int n) {
  int t = blockIdx.x * blockDim.x + threadIdx.x, stride = gridDim.x * blockDim.x;
  float knots[COUNT + MAX_DEGREE + 1], weights[MAX_DEGREE + 1];
  float knot = 0.0f;
  for (int i = 0; i <= COUNT + n; ++i) {
    knots[i] = knot;
    knot += 0.1f + in[(COUNT + i) * stride + t];
  }
  int span = n;
  for (int k = 0; k < 24; ++k) {
    float u = knots[n] + (knots[COUNT] - knots[n]) * (k / 24.0f);
    while (span < COUNT - 1 && u >= knots[span + 1]) ++span;
    basis(knots, span, u, n, weights);
    float sum = 0.0f;
    for (int j = 0; j <= n; ++j) sum += weights[j] * in[(span - n + j) * stride + t];
    out[k * stride + t] = sum;
  }
}
