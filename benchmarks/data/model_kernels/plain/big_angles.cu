// launch: block=256
// Phases that may be large: the slow path of sincos.
extern "C" __global__ void big_angles(const float *x, float *y, int n, int rows) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= n) return;
  float s = 0.f;
  for (int r = 0; r < rows; ++r) {
    float u, v;
    sincosf(x[r * n + t] * 300.f, &u, &v);
    s += u * v;
  }
  y[t] = s;
}
