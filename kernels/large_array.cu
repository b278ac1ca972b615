// 2000 floats per thread, and the same computation without keeping them.
//
// Expect: decay_kept has a frame of 8000 bytes; no unrolling could put that into 255 registers.
// decay_streamed reads its input again instead and has no local memory.

extern "C" __global__ void decay_kept(const float *in, float *out) {
  float history[2000];
#pragma unroll 1
  for (int i = 0; i < 2000; ++i) history[i] = in[i * 32 + threadIdx.x];
  float sum = 0.0f;
#pragma unroll 1
  for (int i = 1999; i >= 0; --i) {
    sum = sum * 0.5f + history[i];
    out[i * 32 + threadIdx.x] = sum;
  }
}

extern "C" __global__ void decay_streamed(const float *in, float *out) {
  float sum = 0.0f;
#pragma unroll 1
  for (int i = 1999; i >= 0; --i) {
    sum = sum * 0.5f + in[i * 32 + threadIdx.x];
    out[i * 32 + threadIdx.x] = sum;
  }
}
