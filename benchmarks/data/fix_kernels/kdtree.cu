// The nearest point in a tree in heap order (nodes 1 to n, n < 65536), with a stack of what is left.
struct Entry {
  int node;
  int depth;
  float bound;
};

extern "C" __global__ void kdtree(const float *in, int *out, int n) {
  int t = blockIdx.x * blockDim.x + threadIdx.x, stride = gridDim.x * blockDim.x;
  float query[3] = {in[3 * stride + t], in[4 * stride + t], in[5 * stride + t]};
  Entry stack[20];
  int top = 0, nearest = 0;
  float best = 1e30f;
  stack[top++] = {1, 0, 0.0f};
  while (top > 0) {
    Entry entry = stack[--top];
    if (entry.bound >= best) continue;
    int node = entry.node, depth = entry.depth;
    while (node <= n) {
      float d = 0.0f;
      for (int i = 0; i < 3; ++i) {
        float delta = query[i] - in[i * stride + node];
        d += delta * delta;
      }
      if (d < best) {
        best = d;
        nearest = node;
      }
      int axis = depth % 3;
      float delta = query[axis] - in[axis * stride + node];
      int side = delta > 0.0f;
      Entry far = {2 * node + 1 - side, depth + 1, delta * delta};
      if (far.node <= n && far.bound < best) stack[top++] = far;
      node = 2 * node + side;
      ++depth;
    }
  }
  out[t] = nearest;
}
