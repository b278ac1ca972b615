// Places instead of pointers, into columns of shared memory.
extern "C" __global__ void cursor(const float *in, float *out, int n) {
  __shared__ float runs[24][256], merged[24][256];
  int t = blockIdx.x * blockDim.x + threadIdx.x, stride = gridDim.x * blockDim.x;
  int lane = threadIdx.x;
  float total = 0.0f;
  for (int k = 0; k + 24 <= n; k += 24) {
    float left = 0.0f, right = 0.0f;
    for (int j = 0; j < 12; ++j) {
      runs[j][lane] = left += in[(k + j) * stride + t];
      runs[12 + j][lane] = right += in[(k + 12 + j) * stride + t];
    }
    int a = 0, b = 12, to = 0;
    while (a < 12 && b < 24)
      merged[to++][lane] = runs[a][lane] < runs[b][lane] ? runs[a++][lane] : runs[b++][lane];
    while (a < 12) merged[to++][lane] = runs[a++][lane];
    while (b < 24) merged[to++][lane] = runs[b++][lane];
    for (int j = 1; j < 24; j += 2) total += merged[j][lane];
  }
  out[t] = total;
}
