// The heap in columns of shared memory, a hole instead of swaps, the root's distance in a register.
__device__ __forceinline__ void place(float2 *heap, float d, int i, int size) {
  int root = 0, child = 1;
  while (child < size) {
    float2 c = heap[child * 128];
    if (child + 1 < size) {
      float2 other = heap[(child + 1) * 128];
      if (other.x > c.x) {
        c = other;
        ++child;
      }
    }
    if (d > c.x) break;
    heap[root * 128] = c;
    root = child;
    child = root * 2 + 1;
  }
  heap[root * 128] = make_float2(d, __int_as_float(i));
}

extern "C" __global__ void __launch_bounds__(128) knn(const float *in, float *out, int n) {
  __shared__ float2 heaps[16 * 128];
  int t = blockIdx.x * blockDim.x + threadIdx.x, stride = gridDim.x * blockDim.x;
  float2 *heap = heaps + threadIdx.x;
  const float *points = in + 3 * stride;
  float x = in[t], y = in[stride + t], z = in[2 * stride + t], worst = 1e10f;
#pragma unroll
  for (int i = 0; i < 16; ++i) heap[i * 128] = make_float2(1e10f, __int_as_float(0));
  for (int j = 0; j < n; ++j) {
    float dx = points[3 * j] - x, dy = points[3 * j + 1] - y, dz = points[3 * j + 2] - z;
    float d = dx * dx + dy * dy + dz * dz;
    if (d < worst) {
      place(heap, d, j, 16);
      worst = heap[0].x;
    }
  }
  for (int last = 15; last > 0; --last) {
    float2 moved = heap[last * 128];
    heap[last * 128] = heap[0];
    place(heap, moved.x, __float_as_int(moved.y), last);
  }
  float sum = 0.0f;
  int ids = 0;
#pragma unroll
  for (int i = 0; i < 16; ++i) {
    sum += sqrtf(heap[i * 128].x);
    ids += __float_as_int(heap[i * 128].y);
  }
  out[t] = sum / 16;
  out[stride + t] = ids;
}
