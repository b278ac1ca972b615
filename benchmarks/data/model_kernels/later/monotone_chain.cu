// Convex hull of 16 points sorted by their first coordinate.
extern "C" __global__ void monotone_chain(const float *y, float *out, int n) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= n) return;
  float hx[18], hy[18]; int k = 0;
  for (int i = 0; i < 16; ++i) {
    float px = i, py = y[i * n + t] * 8;
    while (k >= 2 && (hx[k - 1] - hx[k - 2]) * (py - hy[k - 2]) - (hy[k - 1] - hy[k - 2]) * (px - hx[k - 2]) <= 0) --k;
    hx[k] = px; hy[k++] = py;
  }
  float area = 0;
  for (int i = 1; i < k; ++i) area += hx[i - 1] * hy[i] - hx[i] * hy[i - 1];
  out[t] = area;
}
