// launch: block=128
// A recursive walk of an implicit quadtree of 4 levels.
__device__ float walk(const float *v, int node, int depth, float cut) {
  float own = v[node & 1023];
  if (depth == 4 || own < cut) return own;
  float s = 0.f;
  for (int k = 1; k <= 4; ++k) s += walk(v, 4 * node + k, depth + 1, cut + 0.1f);
  return s;
}
extern "C" __global__ void quadtree_recursive(const float *v, float *out, int n) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t < n) out[t] = walk(v, t & 3, 0, 0.3f);
}
