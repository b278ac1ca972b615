// Thirty doubles that are all alive at once: 60 registers, plus what the loop needs.
//
// Expect: thirty_doubles keeps them in registers. thirty_doubles_capped asks for two blocks of
// 1024 threads per multiprocessor, which leaves 32 registers per thread, so the allocator must
// spill. What removes it: launch bounds that leave more registers, or fewer live values.

__device__ __forceinline__ void mix(double *x, int rounds) {
  double v[30];
#pragma unroll
  for (int i = 0; i < 30; ++i) v[i] = x[threadIdx.x + i * 1024];
  for (int round = 0; round < rounds; ++round) {
#pragma unroll
    for (int i = 0; i < 30; ++i) v[i] = v[i] * v[(i + 7) % 30] + v[(i + 13) % 30];
  }
#pragma unroll
  for (int i = 0; i < 30; ++i) x[threadIdx.x + i * 1024] = v[i];
}

extern "C" __global__ void thirty_doubles(double *x, int rounds) { mix(x, rounds); }

extern "C" __global__ void __launch_bounds__(1024, 2)
    thirty_doubles_capped(double *x, int rounds) {
  mix(x, rounds);
}
