// The 16 nearest of n points, kept in a heap of two arrays: distances and indices.
__device__ void sift_down(float *dist, int *index, int size) {
  int root = 0, child = 1;
  while (child < size) {
    if (child + 1 < size && dist[child + 1] > dist[child]) ++child;
    if (dist[root] > dist[child]) return;
    float d = dist[root]; dist[root] = dist[child]; dist[child] = d;
    int i = index[root]; index[root] = index[child]; index[child] = i;
    root = child;
    child = root * 2 + 1;
  }
}

extern "C" __global__ void knn(const float *in, float *out, int n) {
  int t = blockIdx.x * blockDim.x + threadIdx.x, stride = gridDim.x * blockDim.x;
  const float *points = in + 3 * stride;
  float x = in[t], y = in[stride + t], z = in[2 * stride + t];
  float dist[16];
  int index[16];
  for (int i = 0; i < 16; ++i) {
    dist[i] = 1e10f;
    index[i] = 0;
  }
  for (int j = 0; j < n; ++j) {
    float dx = points[3 * j] - x, dy = points[3 * j + 1] - y, dz = points[3 * j + 2] - z;
    float d = dx * dx + dy * dy + dz * dz;
    if (d < dist[0]) {
      dist[0] = d;
      index[0] = j;
      sift_down(dist, index, 16);
    }
  }
  for (int last = 15; last > 0; --last) {
    float d = dist[0]; dist[0] = dist[last]; dist[last] = d;
    int i = index[0]; index[0] = index[last]; index[last] = i;
    sift_down(dist, index, last);
  }
  float sum = 0.0f;
  int ids = 0;
  for (int i = 0; i < 16; ++i) {
    sum += sqrtf(dist[i]);
    ids += index[i];
  }
  out[t] = sum / 16;
  out[stride + t] = ids;
}
