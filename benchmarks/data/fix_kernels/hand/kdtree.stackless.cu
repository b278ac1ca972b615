// No stack: a register holds for each level whether the far side is still to come, and the way
// up is a shift of the node's number; a bound is computed again where it is needed.
extern "C" __global__ void kdtree(const float *in, int *out, int n) {
  int t = blockIdx.x * blockDim.x + threadIdx.x, stride = gridDim.x * blockDim.x;
  const float *xs = in, *ys = in + stride, *zs = in + 2 * stride;
  float qx = in[3 * stride + t], qy = in[4 * stride + t], qz = in[5 * stride + t];
  float best = 1e30f;
  int node = 1, depth = 0, nearest = 0;
  unsigned left = 0;  // bit d: the far child of the node at depth d on the way is still to be seen
  while (true) {
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
      int axis = depth % 3;
      float delta = axis == 0 ? dx : axis == 1 ? dy : dz;
      int side = delta > 0.0f;
      if (2 * node + 1 - side <= n && delta * delta < best) left |= 1u << depth;
      node = 2 * node + side;
      ++depth;
    }
    bool found = false;
    while (left) {
      int level = 31 - __clz(left);
      left ^= 1u << level;
      int child = node >> (depth - level - 1), parent = child >> 1, axis = level % 3;
      float q = axis == 0 ? qx : axis == 1 ? qy : qz;
      float delta = q - in[axis * stride + parent];
      if (delta * delta < best) {
        node = child ^ 1;
        depth = level + 1;
        found = true;
        break;
      }
    }
    if (!found) break;
  }
  out[t] = nearest;
}
