// launch: block=256
// Function pointers chosen by data, with results through a pointer.
typedef void (*Op)(float *, float);
__device__ __noinline__ void op_add(float *a, float x) { a[0] += x; a[1] *= 0.9f; }
__device__ __noinline__ void op_mul(float *a, float x) { a[1] += a[0] * x; a[2] -= x; }
__device__ __noinline__ void op_max(float *a, float x) { a[2] = fmaxf(a[2], x); a[3] += a[2]; }
extern "C" __global__ void callbacks(const int *code, const float *x, float *y, int n, int rows) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= n) return;
  float a[4] = {1.f, 0.f, 0.f, 0.f};
  for (int r = 0; r < rows; ++r) {
    int c = code[r] % 3;
    Op op = c == 0 ? op_add : c == 1 ? op_mul : op_max;
    op(a, x[r * n + t]);
  }
  y[t] = a[0] + a[1] + a[2] + a[3];
}
