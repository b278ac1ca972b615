// launch: block=128
// Closest hit in an implicit binary tree of intervals, with a stack of pairs.
struct Task { int node; float near; };
extern "C" __global__ void bvh_closest(const float *boxes, const float *rays, int *hit, int n) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= n) return;
  float x = rays[t], y = rays[n + t], best = 1.f;
  int found = -1, sp = 0;
  Task stack[16];
  stack[sp++] = {1, 0.f};
  while (sp) {
    Task task = stack[--sp];
    if (task.near >= best) continue;
    if (task.node >= 1024) {
      float d = fabsf(boxes[task.node] - x) + task.near;
      if (d < best) { best = d; found = task.node; }
      continue;
    }
    float l = fabsf(boxes[2 * task.node] - x) * y * 0.5f, r = fabsf(boxes[2 * task.node + 1] - x) * y * 0.5f;
    bool swap = r < l;
    stack[sp++] = {2 * task.node + !swap, task.near * 0.5f + (swap ? l : r)};
    stack[sp++] = {2 * task.node + swap, task.near * 0.5f + (swap ? r : l)};
  }
  hit[t] = found;
}
