// A volatile local variable, and a plain one.
//
// Expect: sum_volatile stores and loads `sum` on every use. sum_plain has no local memory.

extern "C" __global__ void sum_volatile(const float *x, float *y, int n) {
  volatile float sum = 0.0f;
  for (int i = 0; i < n; ++i) sum = sum + x[i];
  y[threadIdx.x] = sum;
}

extern "C" __global__ void sum_plain(const float *x, float *y, int n) {
  float sum = 0.0f;
  for (int i = 0; i < n; ++i) sum = sum + x[i];
  y[threadIdx.x] = sum;
}
