// The stack in columns of shared memory. Node (16 bits) and depth (4) are fields of one word, and 15
// entries are enough for n < 65536: 120 bytes a thread. The query is picked by selects.
extern "C" __global__ void __launch_bounds__(256) kdtree(const float *in, int *out, int n) {
  __shared__ unsigned all_places[15 * 256];
  __shared__ float all_bounds[15 * 256];
  int t = blockIdx.x * blockDim.x + threadIdx.x, stride = gridDim.x * blockDim.x;
  unsigned *places = all_places + threadIdx.x;
  float *bounds = all_bounds + threadIdx.x;
  float query[3] = {in[3 * stride + t], in[4 * stride + t], in[5 * stride + t]};
  int top = 0, nearest = 0;
  float best = 1e30f;
  places[top * 256] = 1 | 0 << 16;
  bounds[top * 256] = 0.0f;
  ++top;
  while (top > 0) {
    --top;
    if (bounds[top * 256] >= best) continue;
    int node = places[top * 256] & 65535, depth = places[top * 256] >> 16;
    while (node <= n) {
      float d = 0.0f;
#pragma unroll
      for (int i = 0; i < 3; ++i) {
        float delta = query[i] - in[i * stride + node];
        d += delta * delta;
      }
      if (d < best) {
        best = d;
        nearest = node;
      }
      int axis = depth % 3;
      float q = axis == 0 ? query[0] : axis == 1 ? query[1] : query[2];
      float delta = q - in[axis * stride + node];
      int side = delta > 0.0f;
      int far_node = 2 * node + 1 - side;
      float far_bound = delta * delta;
      if (far_node <= n && far_bound < best) {
        places[top * 256] = far_node | (depth + 1) << 16;
        bounds[top * 256] = far_bound;
        ++top;
      }
      node = 2 * node + side;
      ++depth;
    }
  }
  out[t] = nearest;
}
