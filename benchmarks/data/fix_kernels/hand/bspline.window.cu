// The points come in order: the knots and the coefficients around the span are a window in registers, that
// moves on by one.
#define COUNT 12
template <int DEGREE>
__device__ __forceinline__ void evaluate(const float *in, float *out, int t, int stride) {
  // window[i] is the knot span - DEGREE + i.
  float window[2 * DEGREE + 2], c[DEGREE + 1], knot = 0.0f, first = 0.0f;
#pragma unroll
  for (int i = 0; i <= COUNT; ++i) {
    if (i == DEGREE) first = knot;
    if (i < 2 * DEGREE + 2) window[i < 2 * DEGREE + 2 ? i : 0] = knot;
    if (i < COUNT) knot += 0.1f + in[(COUNT + i) * stride + t];
  }
  float range = knot - first;
#pragma unroll
  for (int j = 0; j <= DEGREE; ++j) c[j] = in[j * stride + t];
  int span = DEGREE;
#pragma unroll 1
  for (int k = 0; k < 24; ++k) {
    float u = first + range * (k / 24.0f);
    while (span < COUNT - 1 && u >= window[DEGREE + 1]) {
      float next = window[2 * DEGREE + 1] + (0.1f + in[(COUNT + span + DEGREE + 1) * stride + t]);
#pragma unroll
      for (int i = 0; i < 2 * DEGREE + 1; ++i) window[i] = window[i + 1];
      window[2 * DEGREE + 1] = next;
      ++span;
#pragma unroll
      for (int j = 0; j < DEGREE; ++j) c[j] = c[j + 1];
      c[DEGREE] = in[span * stride + t];
    }
    float left[DEGREE + 1], right[DEGREE + 1], weights[DEGREE + 1];
    weights[0] = 1.0f;
#pragma unroll
    for (int j = 1; j <= DEGREE; ++j) {
      left[j] = u - window[DEGREE + 1 - j];
      right[j] = window[DEGREE + j] - u;
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
    for (int j = 0; j <= DEGREE; ++j) sum += weights[j] * c[j];
    out[k * stride + t] = sum;
  }
}

extern "C" __global__ void bspline(const float *in, float *out, int n) {
  int t = blockIdx.x * blockDim.x + threadIdx.x, stride = gridDim.x * blockDim.x;
  switch (n) {
    case 0: evaluate<0>(in, out, t, stride); break;
    case 1: evaluate<1>(in, out, t, stride); break;
    case 2: evaluate<2>(in, out, t, stride); break;
    case 3: evaluate<3>(in, out, t, stride); break;
    case 4: evaluate<4>(in, out, t, stride); break;
    case 5: evaluate<5>(in, out, t, stride); break;
  }
}
