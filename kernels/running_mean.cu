// A running mean over the last WindowSize values, one series per thread, twice.
//
// Expect: running_mean<32> has a stack frame of 0: every index into `window` is a constant once
// the loops are unrolled, so its 32 floats are 32 registers.
// running_mean_ring<32> has a frame of 128 bytes: `(j + n) % WindowSize` depends on the loop
// counter n of a loop whose trip count is not known, and registers cannot be indexed at run time.
// What removes it: shift instead of rotating (as in running_mean), or keep the ring in shared
// memory.

// lmemscope: instantiate running_mean<32>, running_mean_ring<32>

template <int WindowSize>
__global__ void running_mean(const float *in, float *out, int length) {
  const float *series = in + threadIdx.x;
  float window[WindowSize];
#pragma unroll
  for (int j = 0; j < WindowSize; ++j) window[j] = 0.0f;
  for (int n = 0; n < length; ++n) {
#pragma unroll
    for (int j = 0; j < WindowSize - 1; ++j) window[j] = window[j + 1];
    window[WindowSize - 1] = series[n * blockDim.x];
    float sum = 0.0f;
#pragma unroll
    for (int j = 0; j < WindowSize; ++j) sum += window[j];
    out[n * blockDim.x + threadIdx.x] = sum / WindowSize;
  }
}

template <int WindowSize>
__global__ void running_mean_ring(const float *in, float *out, int length) {
  const float *series = in + threadIdx.x;
  float window[WindowSize];
#pragma unroll
  for (int j = 0; j < WindowSize; ++j) window[j] = 0.0f;
  for (int n = 0; n < length; ++n) {
    window[n % WindowSize] = series[n * blockDim.x];
    float sum = 0.0f;
#pragma unroll
    for (int j = 0; j < WindowSize; ++j) sum += window[(j + n) % WindowSize];
    out[n * blockDim.x + threadIdx.x] = sum / WindowSize;
  }
}
