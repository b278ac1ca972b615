// A loop with a constant trip count that is not unrolled, and one that is.
//
// Expect: reverse_rolled keeps `values` in 192 bytes of local memory, although every index would
// be a constant after unrolling. reverse_unrolled has none.

extern "C" __global__ void reverse_rolled(const float *in, float *out) {
  float values[48];
#pragma unroll 1
  for (int i = 0; i < 48; ++i) values[i] = in[i * 32 + threadIdx.x];
#pragma unroll 1
  for (int i = 0; i < 48; ++i) out[i * 32 + threadIdx.x] = values[47 - i];
}

extern "C" __global__ void reverse_unrolled(const float *in, float *out) {
  float values[48];
#pragma unroll
  for (int i = 0; i < 48; ++i) values[i] = in[i * 32 + threadIdx.x];
#pragma unroll
  for (int i = 0; i < 48; ++i) out[i * 32 + threadIdx.x] = values[47 - i];
}
