// Solving 4 by 4 systems: a helper gets pointers to rows.
__device__ void subtract(float *row, const float *pivot, float factor) {
  for (int j = 0; j < 5; ++j) row[j] -= factor * pivot[j];
}

extern "C" __global__ void rows4(const float *in, float *out, int n) {
  int t = blockIdx.x * blockDim.x + threadIdx.x, stride = gridDim.x * blockDim.x;
  float total = 0.0f;
  for (int k = 0; k + 20 <= n; k += 20) {
    float a[4][5];
    int order[4] = {0, 1, 2, 3};
    for (int j = 0; j < 20; ++j) a[j / 5][j % 5] = in[(k + j) * stride + t];
    for (int column = 0; column < 4; ++column) {
      int best = column;
      for (int row = column + 1; row < 4; ++row)
        if (fabsf(a[order[row]][column]) > fabsf(a[order[best]][column])) best = row;
      int held = order[column];
      order[column] = order[best];
      order[best] = held;
      const float *pivot = a[order[column]];
      for (int row = column + 1; row < 4; ++row) {
        float *own = a[order[row]];
        subtract(own, pivot, __fdividef(own[column], pivot[column] + 1e-6f));
      }
    }
    total += a[order[3]][4];
  }
  out[t] = total;
}
