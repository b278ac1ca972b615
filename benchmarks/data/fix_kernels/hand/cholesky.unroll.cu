// All unrolled, the packed triangle factored in place. Fewer than 6 unknowns are padded with an
// identity, which leaves the others' bits as they are.
extern "C" __global__ void cholesky(const double *in, double *out, int n) {
  int t = blockIdx.x * blockDim.x + threadIdx.x, stride = gridDim.x * blockDim.x;
  double total = 0.0;
#pragma unroll 1
  for (int k = 0; k < 81; k += 27) {
    double l[21], x[6];
#pragma unroll
    for (int i = 0; i < 6; ++i) {
#pragma unroll
      for (int j = 0; j <= i; ++j) {
        int at = i * (i + 1) / 2 + j;
        l[at] = i < n ? in[(k + at) * stride + t] : 0.0;
      }
      l[i * (i + 1) / 2 + i] += i < n ? 2.5 : 1.0;
      x[i] = i < n ? in[(k + 21 + i) * stride + t] : 0.0;
    }
    bool good = true;
#pragma unroll
    for (int i = 0; i < 6; ++i) {
#pragma unroll
      for (int j = 0; j <= i; ++j) {
        double sum = l[i * (i + 1) / 2 + j];
#pragma unroll
        for (int m = 0; m < j; ++m) sum -= l[i * (i + 1) / 2 + m] * l[j * (j + 1) / 2 + m];
        if (i == j) {
          good = good && !(sum <= 0.0);
          l[i * (i + 1) / 2 + i] = sqrt(sum);
        } else {
          l[i * (i + 1) / 2 + j] = sum / l[j * (j + 1) / 2 + j];
        }
      }
    }
#pragma unroll
    for (int i = 0; i < 6; ++i) {
#pragma unroll
      for (int m = 0; m < i; ++m) x[i] -= l[i * (i + 1) / 2 + m] * x[m];
      x[i] /= l[i * (i + 1) / 2 + i];
    }
#pragma unroll
    for (int i = 5; i >= 0; --i) {
#pragma unroll
      for (int m = i + 1; m < 6; ++m) x[i] -= l[m * (m + 1) / 2 + i] * x[m];
      x[i] /= l[i * (i + 1) / 2 + i];
    }
    if (good) {
#pragma unroll
      for (int i = 0; i < 6; ++i) total += x[i] * x[i];
    }
  }
  out[t] = total;
}
