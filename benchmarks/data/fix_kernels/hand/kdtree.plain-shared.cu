// The stack in columns of shared memory, a column for each member. With n < 65536 there is at most one
// entry for each of the depths 1 to 15 (or the root's alone), so that 15 entries fit the static limit.
// The query is picked by selects.
extern "C" __global__ void __launch_bounds__(256) kdtree(const float *in, int *out, int n) {
  __shared__ int all_nodes[15 * 256], all_depths[15 * 256];
  __shared__ float all_bounds[15 * 256];
  int t = blockIdx.x * blockDim.x + threadIdx.x, stride = gridDim.x * blockDim.x;
  int *nodes = all_nodes + threadIdx.x, *depths = all_depths + threadIdx.x;
  float *bounds = all_bounds + threadIdx.x;
  float query[3] = {in[3 * stride + t], in[4 * stride + t], in[5 * stride + t]};
  int top = 0, nearest = 0;
  float best = 1e30f;
  nodes[top * 256] = 1;
  depths[top * 256] = 0;
  bounds[top * 256] = 0.0f;
  ++top;
  while (top > 0) {
    --top;
    if (bounds[top * 256] >= best) continue;
    int node = nodes[top * 256], depth = depths[top * 256];
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
        nodes[top * 256] = far_node;
        depths[top * 256] = depth + 1;
        bounds[top * 256] = far_bound;
        ++top;
      }
      node = 2 * node + side;
      ++depth;
    }
  }
  out[t] = nearest;
}
