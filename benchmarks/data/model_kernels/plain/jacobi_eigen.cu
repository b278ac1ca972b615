// launch: block=128
// Eigenvalues of symmetric 4x4 matrices by cyclic Jacobi rotations.
extern "C" __global__ void jacobi_eigen(const float *in, float *out, int n) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= n) return;
  float a[4][4];
  for (int i = 0; i < 4; ++i)
    for (int j = i; j < 4; ++j) a[i][j] = a[j][i] = in[(i * 4 + j) * n + t];
  for (int sweep = 0; sweep < 6; ++sweep) {
    int p = 0, q = 1;
    float most = 0.f;
    for (int i = 0; i < 4; ++i)
      for (int j = i + 1; j < 4; ++j)
        if (fabsf(a[i][j]) > most) { most = fabsf(a[i][j]); p = i; q = j; }
    if (most < 1e-7f) break;
    float theta = 0.5f * (a[q][q] - a[p][p]) / a[p][q];
    float tn = copysignf(1.f, theta) / (fabsf(theta) + sqrtf(theta * theta + 1.f));
    float c = rsqrtf(tn * tn + 1.f), s = tn * c;
    for (int k = 0; k < 4; ++k) {
      float u = a[p][k], v = a[q][k];
      a[p][k] = c * u - s * v;
      a[q][k] = s * u + c * v;
    }
    for (int k = 0; k < 4; ++k) {
      float u = a[k][p], v = a[k][q];
      a[k][p] = c * u - s * v;
      a[k][q] = s * u + c * v;
    }
  }
  for (int i = 0; i < 4; ++i) out[i * n + t] = a[i][i];
}
