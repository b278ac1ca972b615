// The rows of a ragged matrix, each summed by a child grid of its own, and by a warp of one grid.
//
// Expect: no local memory in either. rows_by_children launches one grid per row; rows_by_warps does
// the same work without a launch, and is the faster one by far (docs/questions).

extern "C" __global__ void sum_row(const float *x, int begin, int end, float *sum) {
  float own = 0.0f;
  for (int i = begin + threadIdx.x; i < end; i += 32) own += x[i];
  for (int half = 16; half > 0; half /= 2) own += __shfl_down_sync(0xffffffffu, own, half);
  if (threadIdx.x == 0) *sum = own;
}

extern "C" __global__ void rows_by_children(const float *x, const int *starts, float *sums,
                                            int rows) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row < rows)
    sum_row<<<1, 32, 0, cudaStreamFireAndForget>>>(x, starts[row], starts[row + 1], sums + row);
}

extern "C" __global__ void rows_by_warps(const float *x, const int *starts, float *sums, int rows) {
  int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
  if (row >= rows) return;
  float own = 0.0f;
  for (int i = starts[row] + lane; i < starts[row + 1]; i += 32) own += x[i];
  for (int half = 16; half > 0; half /= 2) own += __shfl_down_sync(0xffffffffu, own, half);
  if (lane == 0) sums[row] = own;
}
