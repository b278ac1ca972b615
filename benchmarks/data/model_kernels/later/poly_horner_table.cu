// Evaluates one of six polynomials that the data choose.
extern "C" __global__ void poly_horner_table(const float *x, const int *kind, float *y, int n, int rows) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= n) return;
  const float coef[6][5] = {{1, .5f, .25f, .1f, .05f}, {2, -1, .3f, .2f, 0}, {0, 1, 0, -.16f, 0}, {1, 0, -.5f, 0, .04f}, {3, 2, 1, .5f, .2f}, {.1f, .2f, .4f, .8f, 1.6f}};
  float s = 0;
  for (int r = 0; r < rows; ++r) {
    const float *c = coef[kind[r * n + t] % 6]; float v = x[r * n + t];
    s += (((c[4] * v + c[3]) * v + c[2]) * v + c[1]) * v + c[0];
  }
  y[t] = s;
}
