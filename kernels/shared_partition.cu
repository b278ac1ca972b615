// Work for small groups of threads: a block that divides its shared memory among sub-blocks, and a
// child grid for each group.
//
// Expect: no local memory in either. Shared memory belongs to a block: sub-blocks of one block have
// disjoint slices of it, a child grid has shared memory of its own and sees none of its parent's.

constexpr int Group = 64;
constexpr int Groups = 4;

// Reverses a group's tile. Every thread of the block must come here: the barrier is the block's.
static __device__ void reverse_tile(float *slice, float *x, int lane) {
  slice[lane] = x[lane];
  __syncthreads();
  x[lane] = slice[Group - 1 - lane];
}

extern "C" __global__ void tiles_by_slices(float *x) {
  __shared__ float slices[Groups][Group];
  int group = threadIdx.x / Group, lane = threadIdx.x % Group;
  reverse_tile(slices[group], x + (blockIdx.x * Groups + group) * Group, lane);
}

extern "C" __global__ void one_tile(float *x) {
  __shared__ float slice[Group];
  reverse_tile(slice, x, threadIdx.x);
}

extern "C" __global__ void tiles_by_children(float *x, int tiles) {
  int tile = blockIdx.x * blockDim.x + threadIdx.x;
  if (tile < tiles) one_tile<<<1, Group, 0, cudaStreamFireAndForget>>>(x + tile * Group);
}
