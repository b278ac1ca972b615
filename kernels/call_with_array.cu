// An array whose address goes to a function that is not inlined.
//
// Expect: smooth_called has a frame that holds `taps`: a pointer cannot point at registers.
// smooth_inlined computes the same without local memory: once the function is inlined, no
// address is needed.

__device__ __noinline__ float weigh_called(const float *taps, float x) {
  return taps[0] * x + taps[1] * x * x + taps[2] * x * x * x + taps[3];
}

__device__ __forceinline__ float weigh_inlined(const float *taps, float x) {
  return taps[0] * x + taps[1] * x * x + taps[2] * x * x * x + taps[3];
}

extern "C" __global__ void smooth_called(const float *in, float *out) {
  float taps[4];
  for (int i = 0; i < 4; ++i) taps[i] = in[i];
  out[threadIdx.x] = weigh_called(taps, in[threadIdx.x]);
}

extern "C" __global__ void smooth_inlined(const float *in, float *out) {
  float taps[4];
  for (int i = 0; i < 4; ++i) taps[i] = in[i];
  out[threadIdx.x] = weigh_inlined(taps, in[threadIdx.x]);
}
