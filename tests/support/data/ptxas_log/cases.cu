// Source of cases.ptx: one kernel per shape that the report of ptxas can take.
__constant__ float table[16];
__device__ float state[64];

// Spills under a register cap, with launch bounds that set one.
extern "C" __global__ void __launch_bounds__(1024, 2) spilling(double *x, int n) {
  double a[30];
  for (int i = 0; i < 30; ++i) a[i] = x[threadIdx.x + i * 1024];
  for (int k = 0; k < n; ++k)
    for (int i = 0; i < 30; ++i) a[i] = a[i] * a[(i + 7) % 30] + a[(i + 13) % 30];
  for (int i = 0; i < 30; ++i) x[threadIdx.x + i * 1024] = a[i];
}

// A stack frame without spills.
extern "C" __global__ void indexed(float *y, int n) {
  float w[64];
  for (int i = 0; i < 64; ++i) w[i] = y[i * n];
  y[threadIdx.x] = w[n % 64] + table[n & 15];
}

// A non-inlined function that saves registers and spills, and a kernel that reports 0 itself.
__device__ __noinline__ double heavy(const double *x, int n) {
  double a[24];
  for (int i = 0; i < 24; ++i) a[i] = x[i * n];
  for (int k = 0; k < n; ++k)
    for (int i = 0; i < 24; ++i) a[i] = a[i] * a[(i + 5) % 24] + a[(i + 11) % 24];
  double s = 0;
  for (int i = 0; i < 24; ++i) s += a[i];
  return s;
}
extern "C" __global__ void __launch_bounds__(1024, 2) calling(double *x, int n) {
  x[threadIdx.x] = heavy(x, n) + heavy(x + n, n + 1);
}

// Recursion: the stack depth is not statically known.
__device__ __noinline__ int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
extern "C" __global__ void recursive(int *y, int n) { y[threadIdx.x] = fib(n); }

// Shared memory, barriers, no stack.
extern "C" __global__ void sharing(float *y) {
  __shared__ float tile[256];
  tile[threadIdx.x] = y[threadIdx.x];
  __syncthreads();
  y[threadIdx.x] = tile[255 - threadIdx.x] + state[threadIdx.x & 63];
}
