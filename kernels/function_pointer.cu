// A function chosen at run time by pointer, and by a switch.
//
// Expect: operation_pointer saves registers on the stack around the call, and its stack depth
// depends on what is called. operation_switch has no local memory.

typedef float (*Operation)(float, float);

__device__ __noinline__ float add(float a, float b) { return a + b; }
__device__ __noinline__ float power(float a, float b) { return powf(a, b); }
__device__ Operation operations[2] = {add, power};

extern "C" __global__ void operation_pointer(const float *x, float *y, int which) {
  y[threadIdx.x] = operations[which](x[threadIdx.x], x[threadIdx.x + 32]);
}

extern "C" __global__ void operation_switch(const float *x, float *y, int which) {
  float a = x[threadIdx.x], b = x[threadIdx.x + 32];
  y[threadIdx.x] = which == 0 ? a + b : powf(a, b);
}
