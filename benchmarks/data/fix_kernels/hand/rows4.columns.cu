// The rows in columns of shared memory.
extern "C" __global__ void rows4(const float *in, float *out, int n) {
  __shared__ float a[20][256];
  int t = blockIdx.x * blockDim.x + threadIdx.x, stride = gridDim.x * blockDim.x;
  int lane = threadIdx.x;
  float total = 0.0f;
  for (int k = 0; k + 20 <= n; k += 20) {
    unsigned order = 0x3210;
    for (int j = 0; j < 20; ++j) a[j][lane] = in[(k + j) * stride + t];
    for (int column = 0; column < 4; ++column) {
      int best = column;
      for (int row = column + 1; row < 4; ++row)
        if (fabsf(a[(order >> 4 * row & 15) * 5 + column][lane]) >
            fabsf(a[(order >> 4 * best & 15) * 5 + column][lane]))
          best = row;
      unsigned change = (order >> 4 * column ^ order >> 4 * best) & 15;
      order ^= change << 4 * column | change << 4 * best;
      int pivot = (order >> 4 * column & 15) * 5;
      for (int row = column + 1; row < 4; ++row) {
        int own = (order >> 4 * row & 15) * 5;
        float factor = __fdividef(a[own + column][lane], a[pivot + column][lane] + 1e-6f);
        for (int j = 0; j < 5; ++j) a[own + j][lane] -= factor * a[pivot + j][lane];
      }
    }
    total += a[(order >> 12 & 15) * 5 + 4][lane];
  }
  out[t] = total;
}
