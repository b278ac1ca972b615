// launch: block=256
// A compensated sum whose parts are volatile.
extern "C" __global__ void volatile_sum(const float *x, float *y, int n, int rows) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= n) return;
  volatile float s = 0.f, c = 0.f;
  for (int r = 0; r < rows; ++r) {
    volatile float v = x[r * n + t] - c;
    volatile float w = s + v;
    c = (w - s) - v;
    s = w;
  }
  y[t] = s;
}
