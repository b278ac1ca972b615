// A table of constants, built by each thread or once for all.
//
// Expect: table_per_thread writes 45 constants to local memory on each call and reads them by
// index. table_shared_by_all reads the same table from device memory, where the compiler has written
// it, and has no local memory.

struct Table {
  float at[45];
  __host__ __device__ constexpr Table() : at() {
    for (int i = 0; i < 45; ++i) at[i] = 0.37f * i * i - 1.5f;
  }
};

__device__ const Table kTable;

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
  for (int i = 0; i < x[0]; ++i) sum += kTable.at[x[i + threadIdx.x] % 45];
  y[threadIdx.x] = sum;
}
