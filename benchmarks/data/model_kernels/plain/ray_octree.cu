// launch: block=128 steps=48
// Marches a ray through an octree coded in ints, with the path on a stack.
extern "C" __global__ void ray_octree(const int *tree, const float *ray, float *out, int n, int steps) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= n) return;
  float x[3], d[3];
  for (int a = 0; a < 3; ++a) { x[a] = ray[a * n + t]; d[a] = 0.02f + 0.01f * ray[(a + 3) * n + t]; }
  int path[24], depth = 0;
  path[0] = 0;
  float sum = 0.f;
  for (int s = 0; s < steps; ++s) {
    int node = tree[path[depth] & 4095];
    if ((node & 3) == 0 && depth < 23) {
      int c = 0;
      for (int a = 0; a < 3; ++a) c |= (x[a] * (1 << (depth & 7)) - (int)(x[a] * (1 << (depth & 7))) > 0.5f) << a;
      path[depth + 1] = path[depth] * 8 + c + 1;
      ++depth;
    } else {
      sum += node & 7;
      for (int a = 0; a < 3; ++a) x[a] += d[a];
      depth = max(0, depth - (node & 3));
    }
  }
  out[t] = sum;
}
