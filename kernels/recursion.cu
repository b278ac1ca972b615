// A tree walk, by recursion and by an explicit loop.
//
// Expect: depth_recursive reports a frame of 0 for the kernel itself, and all of its LDL/STL are
// in the function it calls, which saves registers around each call; the depth of the stack is
// not statically known. depth_iterative has no local memory.

struct Node {
  int left, right;
};

__device__ int depth_of(const Node *nodes, int at) {
  if (at < 0) return 0;
  int left = depth_of(nodes, nodes[at].left);
  int right = depth_of(nodes, nodes[at].right);
  return 1 + (left > right ? left : right);
}

extern "C" __global__ void depth_recursive(const Node *nodes, const int *roots, int *depths) {
  depths[threadIdx.x] = depth_of(nodes, roots[threadIdx.x]);
}

// The walk goes left only, which needs no stack; enough to show the difference.
extern "C" __global__ void depth_iterative(const Node *nodes, const int *roots, int *depths) {
  int depth = 0;
  for (int at = roots[threadIdx.x]; at >= 0; at = nodes[at].left) ++depth;
  depths[threadIdx.x] = depth;
}
