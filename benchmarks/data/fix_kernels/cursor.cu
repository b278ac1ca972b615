// Merging two sorted runs of 12 with pointers, then the sum of what is at odd places.
extern "C" __global__ void cursor(const float *in, float *out, int n) {
  int t = blockIdx.x * blockDim.x + threadIdx.x, stride = gridDim.x * blockDim.x;
  float runs[24], merged[24], total = 0.0f;
  for (int k = 0; k + 24 <= n; k += 24) {
    float left = 0.0f, right = 0.0f;
    for (int j = 0; j < 12; ++j) {
      runs[j] = left += in[(k + j) * stride + t];
      runs[12 + j] = right += in[(k + 12 + j) * stride + t];
    }
    const float *a = runs, *b = runs + 12;
    float *to = merged;
    while (a < runs + 12 && b < runs + 24) *to++ = *a < *b ? *a++ : *b++;
    while (a < runs + 12) *to++ = *a++;
    while (b < runs + 24) *to++ = *b++;
    for (int j = 1; j < 24; j += 2) total += merged[j];
  }
  out[t] = total;
}
