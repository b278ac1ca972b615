// A child that is given the address of its parent's local array: a bug that compiles.
//
// Expect: `own` is address-taken, 128 bytes. Local memory belongs to one thread of one grid; in the
// child the pointer means something else. What removes it: hand over global memory, as in
// parent_hands_over_global. Of parent_hands_over_local nvcc warns; of the one that hands the same
// array over through a call, it does not.

__global__ void scale_given(float *x) { x[threadIdx.x] *= 2.0f; }

extern "C" __global__ void parent_hands_over_local(float *out, int n) {
  float own[32];
  for (int i = 0; i < 32; ++i) own[i] = out[i * n];
  scale_given<<<1, 32>>>(own);
  out[threadIdx.x] = own[n];
}

extern "C" __global__ void parent_hands_over_global(float *out, float *scratch, int n) {
  for (int i = 0; i < 32; ++i) scratch[i] = out[i * n];
  scale_given<<<1, 32>>>(scratch);
}

static __device__ __noinline__ void launch_for(float *given) { scale_given<<<1, 32>>>(given); }

extern "C" __global__ void parent_hands_over_by_call(float *out, int n) {
  float own[32];
  for (int i = 0; i < 32; ++i) own[i] = out[i * n];
  launch_for(own);
  out[threadIdx.x] = own[n];
}
