// launch: block=256 sections=10
// A cascade of up to 14 biquads with states in arrays; how many is run-time.
extern "C" __global__ void biquads(const float *x, const float *coef, float *y, int n, int rows, int sections) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= n) return;
  float z1[14] = {}, z2[14] = {};
  for (int r = 0; r < rows; ++r) {
    float v = x[r * n + t];
    for (int s = 0; s < sections; ++s) {
      float o = coef[5 * s] * v + z1[s];
      z1[s] = coef[5 * s + 1] * v - coef[5 * s + 3] * o + z2[s];
      z2[s] = coef[5 * s + 2] * v - coef[5 * s + 4] * o;
      v = o;
    }
    y[r * n + t] = v;
  }
}
