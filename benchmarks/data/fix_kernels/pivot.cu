// Solving 4 by 4 systems with partial pivoting: rows are swapped by an index.
extern "C" __global__ void pivot(const float *in, float *out, int n) {
  int t = blockIdx.x * blockDim.x + threadIdx.x, stride = gridDim.x * blockDim.x;
  float total = 0.0f;
  for (int k = 0; k + 20 <= n; k += 20) {
    float a[20];
    for (int j = 0; j < 20; ++j) a[j] = in[(k + j) * stride + t];
    for (int column = 0; column < 4; ++column) {
      int best = column;
      for (int row = column + 1; row < 4; ++row)
        if (fabsf(a[row * 5 + column]) > fabsf(a[best * 5 + column])) best = row;
      for (int j = 0; j < 5; ++j) {
        float held = a[column * 5 + j];
        a[column * 5 + j] = a[best * 5 + j];
        a[best * 5 + j] = held;
      }
      for (int row = column + 1; row < 4; ++row) {
        float factor = __fdividef(a[row * 5 + column], a[column * 5 + column] + 1e-6f);
        for (int j = column; j < 5; ++j) a[row * 5 + j] -= factor * a[column * 5 + j];
      }
    }
    total += a[19];
  }
  out[t] = total;
}
