// A table of constants, built by each thread or once for all.
//
// Expect: table_per_thread writes 45 constants to local memory on each call and reads them by
// index. table_shared_by_all reads the same table from device memory and has no local memory.

__device__ const float kTable[8] = {0.5f, 1.25f, -3.0f, 7.5f, 0.125f, 9.0f, -1.5f, 2.75f};

extern "C" __global__ void table_per_thread(const int *x, float *y) {
  float table[45];
#pragma unroll
  for (int i = 0; i < 45; ++i) table[i] = 0.37f * i * i - 1.5f;
  float sum = 0.0f;
#pragma unroll 1
  for (int i = 0; i < x[0]; ++i) sum += table[x[i + threadIdx.x] % 45];
  y[threadIdx.x] = sum;
}

extern "C" __global__ void table_shared_by_all(const int *x, float *y) {
  float sum = 0.0f;
#pragma unroll 1
  for (int i = 0; i < x[0]; ++i) sum += kTable[x[i + threadIdx.x] & 7];
  y[threadIdx.x] = sum;
}
