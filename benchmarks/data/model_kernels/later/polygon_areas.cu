// Clips a triangle by four half-planes with two buffers of corners.
extern "C" __global__ void polygon_areas(const float *tri, float *out, int n) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= n) return;
  float ax[8], ay[8], bx[8], by[8]; int count = 3;
  for (int i = 0; i < 3; ++i) { ax[i] = tri[(2 * i) * n + t] * 2 - .5f; ay[i] = tri[(2 * i + 1) * n + t] * 2 - .5f; }
  for (int e = 0; e < 4; ++e) {
    int m = 0; float nx = e == 0 ? 1 : e == 1 ? -1 : 0, ny = e == 2 ? 1 : e == 3 ? -1 : 0, d = e & 1 ? -1 : 0;
    for (int i = 0; i < count; ++i) {
      int j = i + 1 < count ? i + 1 : 0;
      float u = nx * ax[i] + ny * ay[i] - d, v = nx * ax[j] + ny * ay[j] - d;
      if (u >= 0) { bx[m] = ax[i]; by[m++] = ay[i]; }
      if (u * v < 0) { float f = u / (u - v); bx[m] = ax[i] + f * (ax[j] - ax[i]); by[m++] = ay[i] + f * (ay[j] - ay[i]); }
    }
    count = m;
    for (int i = 0; i < m; ++i) { ax[i] = bx[i]; ay[i] = by[i]; }
  }
  float area = 0;
  for (int i = 0; i < count; ++i) { int j = i + 1 < count ? i + 1 : 0; area += ax[i] * ay[j] - ax[j] * ay[i]; }
  out[t] = area;
}
