// Both arrays of the heap in columns of shared memory.
#define AT(a, i) a[(i) * 128]
__device__ __forceinline__ void sift_down(float *dist, int *index, int size) {
  int root = 0, child = 1;
  while (child < size) {
    if (child + 1 < size && AT(dist, child + 1) > AT(dist, child)) ++child;
    if (AT(dist, root) > AT(dist, child)) return;
    float d = AT(dist, root); AT(dist, root) = AT(dist, child); AT(dist, child) = d;
    int i = AT(index, root); AT(index, root) = AT(index, child); AT(index, child) = i;
    root = child;
    child = root * 2 + 1;
  }
}

extern "C" __global__ void __launch_bounds__(128) knn(const float *in, float *out, int n) {
  __shared__ float dists[16 * 128];
  __shared__ int indices[16 * 128];
  int t = blockIdx.x * blockDim.x + threadIdx.x, stride = gridDim.x * blockDim.x;
  const float *points = in + 3 * stride;
  float x = in[t], y = in[stride + t], z = in[2 * stride + t];
  float *dist = dists + threadIdx.x;
  int *index = indices + threadIdx.x;
#pragma unroll
  for (int i = 0; i < 16; ++i) {
    AT(dist, i) = 1e10f;
    AT(index, i) = 0;
  }
  for (int j = 0; j < n; ++j) {
    float dx = points[3 * j] - x, dy = points[3 * j + 1] - y, dz = points[3 * j + 2] - z;
    float d = dx * dx + dy * dy + dz * dz;
    if (d < AT(dist, 0)) {
      AT(dist, 0) = d;
      AT(index, 0) = j;
      sift_down(dist, index, 16);
    }
  }
  for (int last = 15; last > 0; --last) {
    float d = AT(dist, 0); AT(dist, 0) = AT(dist, last); AT(dist, last) = d;
    int i = AT(index, 0); AT(index, 0) = AT(index, last); AT(index, last) = i;
    sift_down(dist, index, last);
  }
  float sum = 0.0f;
  int ids = 0;
#pragma unroll
  for (int i = 0; i < 16; ++i) {
    sum += sqrtf(AT(dist, i));
    ids += AT(index, i);
  }
  out[t] = sum / 16;
  out[stride + t] = ids;
}
