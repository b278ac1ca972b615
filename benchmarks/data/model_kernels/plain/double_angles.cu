// launch: block=256
// Rotations by angles in double precision.
extern "C" __global__ void double_angles(const double *x, double *y, int n, int rows) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= n) return;
  double u = 1., v = 0.;
  for (int r = 0; r < rows; ++r) {
    double a = x[r * n + t] * 6.28, c = cos(a), s = sin(a), w = u * c - v * s;
    v = u * s + v * c;
    u = w;
  }
  y[t] = u + v;
}
