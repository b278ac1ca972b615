// Sorted lists in registers: a new point moves down the whole list by comparing and swapping.
extern "C" __global__ void knn(const float *in, float *out, int n) {
  int t = blockIdx.x * blockDim.x + threadIdx.x, stride = gridDim.x * blockDim.x;
  const float *points = in + 3 * stride;
  float x = in[t], y = in[stride + t], z = in[2 * stride + t];
  float dist[16];
  int index[16];
#pragma unroll
  for (int i = 0; i < 16; ++i) {
    dist[i] = 1e10f;
    index[i] = 0;
  }
  for (int j = 0; j < n; ++j) {
    float dx = points[3 * j] - x, dy = points[3 * j + 1] - y, dz = points[3 * j + 2] - z;
    float d = dx * dx + dy * dy + dz * dz;
    if (d < dist[15]) {
#pragma unroll
      for (int i = 15; i > 0; --i) {
        bool above = d < dist[i - 1], here = d < dist[i];
        dist[i] = above ? dist[i - 1] : here ? d : dist[i];
        index[i] = above ? index[i - 1] : here ? j : index[i];
      }
      if (d < dist[0]) {
        dist[0] = d;
        index[0] = j;
      }
    }
  }
  float sum = 0.0f;
  int ids = 0;
#pragma unroll
  for (int i = 0; i < 16; ++i) {
    sum += sqrtf(dist[i]);
    ids += index[i];
  }
  out[t] = sum / 16;
  out[stride + t] = ids;
}
