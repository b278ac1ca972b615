// Median of a 3 x 3 x 3 neighbourhood by bubble sort up to the middle.
extern "C" __global__ void tgv_median27(const float *in, float *out, int n) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= n) return;
  float v[27];
  for (int i = 0; i < 27; ++i) v[i] = in[(i / 9) * 4096 + (i / 3 % 3) * 64 + i % 3 + t];
  for (int i = 0; i <= 13; ++i) {
    int m = i;
    for (int j = i + 1; j < 27; ++j) if (v[j] < v[m]) m = j;
    float s = v[i]; v[i] = v[m]; v[m] = s;
  }
  out[t] = v[13];
}
