// Pivoting through a helper that takes the row by pointer.
__device__ __noinline__ int largest(const float *v, int from, int count) {
  int b = from;
  for (int i = from + 1; i < count; ++i) if (fabsf(v[i]) > fabsf(v[b])) b = i;
  return b;
}
extern "C" __global__ void helper_pivot(const float *in, float *out, int n, int count) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= n) return;
  float v[16];
  for (int i = 0; i < 16; ++i) v[i] = in[i * n + t] - .5f;
  float s = 0;
  for (int k = 0; k < count - 1; ++k) { int b = largest(v, k, count); float e = v[b]; v[b] = v[k]; v[k] = e; s += e * (k + 1); }
  out[t] = s;
}
