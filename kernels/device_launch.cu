// A launch from the device, and a loop that does the child's work. Such code has to be
// relocatable (nvcc -rdc=true); lmemscope compiles it so by itself.
//
// Expect: parent_launches is noted as launching; the frame that the launch needs is added by the
// linker, not here. parent_loops is clean.

__global__ void scale_child(float *x, int n) {
  if (threadIdx.x < n) x[threadIdx.x] *= 2.0f;
}

extern "C" __global__ void parent_launches(float *x, int n) {
  if (threadIdx.x == 0) scale_child<<<1, 32>>>(x, n);
}

extern "C" __global__ void parent_loops(float *x, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) x[i] *= 2.0f;
}
