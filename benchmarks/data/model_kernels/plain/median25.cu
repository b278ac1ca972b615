// launch: block=256 w=1024
// 5x5 median of an image by quickselect.
extern "C" __global__ void median25(const float *image, float *out, int n, int w) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= n) return;
  float v[25];
  for (int i = 0; i < 25; ++i) v[i] = image[t + (i / 5) * w + i % 5];
  int lo = 0, hi = 24;
  while (lo < hi) {
    float pivot = v[12];
    int i = lo, j = hi;
    do {
      while (v[i] < pivot) ++i;
      while (pivot < v[j]) --j;
      if (i <= j) { float s = v[i]; v[i] = v[j]; v[j] = s; ++i; --j; }
    } while (i <= j);
    if (j < 12) lo = i;
    if (12 < i) hi = j;
  }
  out[t] = v[12];
}
