// The stack in columns of shared memory: the node and the bound (the depth is in the node's number).
extern "C" __global__ void __launch_bounds__(256) kdtree(const float *in, int *out, int n) {
  __shared__ unsigned short nodes[17 * 256];
  __shared__ float bounds[17 * 256];
  int t = blockIdx.x * blockDim.x + threadIdx.x, stride = gridDim.x * blockDim.x;
  int lane = threadIdx.x;
  const float *xs = in, *ys = in + stride, *zs = in + 2 * stride;
  float qx = in[3 * stride + t], qy = in[4 * stride + t], qz = in[5 * stride + t];
  float best = 1e30f;
  int node = 1, top = 0, nearest = 0;
  while (true) {
    int axis = (31 - __clz(node)) % 3;
    while (node <= n) {
      float dx = qx - xs[node], dy = qy - ys[node], dz = qz - zs[node];
      float d = 0.0f;
      d += dx * dx;
      d += dy * dy;
      d += dz * dz;
      if (d < best) {
        best = d;
        nearest = node;
      }
      float delta = axis == 0 ? dx : axis == 1 ? dy : dz, bound = delta * delta;
      int side = delta > 0.0f, far = 2 * node + 1 - side;
      if (far <= n && bound < best) {
        nodes[top * 256 + lane] = far;
        bounds[top * 256 + lane] = bound;
        ++top;
      }
      node = 2 * node + side;
      axis = axis == 2 ? 0 : axis + 1;
    }
    while (top > 0 && bounds[(top - 1) * 256 + lane] >= best) --top;
    if (top == 0) break;
    node = nodes[--top * 256 + lane];
  }
  out[t] = nearest;
}
