// launch: block=256
// R of a QR factorization of 5x3 matrices by Givens rotations; the order of rows is the caller's.
extern "C" __global__ void qr_givens(const float *in, const int *order, float *out, int n) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= n) return;
  float a[15];
  for (int i = 0; i < 15; ++i) a[i] = in[i * n + t] - 0.5f;
  for (int k = 0; k < 12; ++k) {
    int o = order[k], r = o % 4 + 1, c = (o >> 4) % 3;
    float x = a[(r - 1) * 3 + c], y = a[r * 3 + c], h = rsqrtf(x * x + y * y + 1e-12f);
    float cs = x * h, sn = y * h;
    for (int j = 0; j < 3; ++j) {
      float u = a[(r - 1) * 3 + j], v = a[r * 3 + j];
      a[(r - 1) * 3 + j] = cs * u + sn * v;
      a[r * 3 + j] = cs * v - sn * u;
    }
  }
  for (int i = 0; i < 9; ++i) out[i * n + t] = a[i];
}
