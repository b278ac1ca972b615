// A large function that is not inlined, and the same one inlined.
//
// Expect: model_called has a frame of 0 and no spills of its own; the functions it calls save
// registers of their caller (LDL/STL without a spill). So do they in model_by_pointer, where they
// cannot be inlined at all. model_inlined has no local memory.

typedef double (*Model)(const double *, double, int);

__device__ __forceinline__ double evaluate(const double *c, double x, int n) {
  double v[12];
#pragma unroll
  for (int i = 0; i < 12; ++i) v[i] = c[i] * x;
  for (int k = 0; k < n; ++k)
#pragma unroll
    for (int i = 0; i < 12; ++i) v[i] = v[i] * v[(i + 5) % 12] + v[(i + 7) % 12];
  double s = 0;
#pragma unroll
  for (int i = 0; i < 12; ++i) s += v[i];
  return s;
}

__device__ __noinline__ double cubic(const double *c, double x, int n) {
  return evaluate(c, x, n);
}
__device__ __noinline__ double linear(const double *c, double x, int n) { return c[0] * x + n; }

// The table of pointers makes both functions keep to the calling convention, for every caller.
__device__ Model models[2] = {cubic, linear};

extern "C" __global__ void model_by_pointer(const double *c, double *y, int n, int which) {
  y[threadIdx.x] = models[which](c, y[threadIdx.x], n);
}

extern "C" __global__ void model_called(const double *c, double *y, int n, int which) {
  y[threadIdx.x] = which ? linear(c, y[threadIdx.x], n) : cubic(c, y[threadIdx.x], n);
}

extern "C" __global__ void model_inlined(const double *c, double *y, int n, int which) {
  double x = y[threadIdx.x];
  y[threadIdx.x] = which ? c[0] * x + n : evaluate(c, x, n);
}
