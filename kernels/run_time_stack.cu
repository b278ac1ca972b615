// alloca, and shared memory sized at launch. NVRTC has no alloca, so nvcc compiles this.
//
// Expect: scratch_alloca has LDL and STL although its static frame is 0, and its stack depth is
// not known. scratch_shared has no local memory.

extern "C" __global__ void scratch_alloca(const float *x, float *y, int n) {
  float *scratch = static_cast<float *>(alloca(n * sizeof(float)));
  for (int i = 0; i < n; ++i) scratch[i] = x[i];
  float sum = 0.0f;
  for (int i = 0; i < n; ++i) sum += scratch[(i * 7) % n];
  y[threadIdx.x] = sum;
}

extern "C" __global__ void scratch_shared(const float *x, float *y, int n) {
  extern __shared__ float shared[];
  for (int i = 0; i < n; ++i) shared[i * blockDim.x + threadIdx.x] = x[i];
  float sum = 0.0f;
  for (int i = 0; i < n; ++i) sum += shared[((i * 7) % n) * blockDim.x + threadIdx.x];
  y[threadIdx.x] = sum;
}
