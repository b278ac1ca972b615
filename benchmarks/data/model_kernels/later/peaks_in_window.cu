// Local maxima of a line, kept in a list that is trimmed by height.
extern "C" __global__ void peaks_in_window(const float *x, float *out, int n, int length) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= n) return;
  float height[12]; int where[12]; int count = 0;
  float a = x[t], b = x[n + t];
  for (int i = 2; i < length; ++i) {
    float c = x[i * n + t];
    if (b > a && b >= c) {
      int at = count;
      while (at > 0 && height[at - 1] < b) --at;
      if (at < 12) {
        if (count < 12) ++count;
        for (int k = count - 1; k > at; --k) { height[k] = height[k - 1]; where[k] = where[k - 1]; }
        height[at] = b; where[at] = i - 1;
      }
    }
    a = b; b = c;
  }
  float s = 0;
  for (int i = 0; i < count; ++i) s += height[i] * where[i];
  out[t] = s;
}
