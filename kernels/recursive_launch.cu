// A sum that halves the array until one element is left: a kernel that launches itself for the rest,
// and the same as a loop.
//
// Expect: no local memory in either. sum_recursive launches itself into the tail stream, which
// starts when all of the grid has ended: the next level then sees what this one wrote. sum_iterative
// is one block that loops over the levels, with a barrier between them.

extern "C" __global__ void sum_recursive(float *x, int n) {
  int half = n / 2;
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < half) x[i] += x[i + half];
  if (i == 0 && half > 1)
    sum_recursive<<<(half / 2 + 255) / 256, 256, 0, cudaStreamTailLaunch>>>(x, half);
}

extern "C" __global__ void sum_iterative(float *x, int n) {
  for (int half = n / 2; half >= 1; half /= 2) {
    for (int i = threadIdx.x; i < half; i += blockDim.x) x[i] += x[i + half];
    __syncthreads();
  }
}
