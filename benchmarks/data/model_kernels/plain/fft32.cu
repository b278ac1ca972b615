// launch: block=128 logn=5
// In-place FFT of 32 complex numbers, size from the caller.
extern "C" __global__ void fft32(const float2 *in, float2 *out, int n, int logn) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= n) return;
  float2 a[32];
  int size = 1 << logn;
  for (int i = 0; i < size; ++i) a[__brev(i) >> (32 - logn)] = in[i * n + t];
  for (int half = 1; half < size; half <<= 1) {
    float step = -3.14159265f / half;
    for (int j = 0; j < half; ++j) {
      float c = __cosf(step * j), s = __sinf(step * j);
      for (int i = j; i < size; i += 2 * half) {
        float2 u = a[i], v = a[i + half];
        float re = v.x * c - v.y * s, im = v.x * s + v.y * c;
        a[i] = make_float2(u.x + re, u.y + im);
        a[i + half] = make_float2(u.x - re, u.y - im);
      }
    }
  }
  for (int i = 0; i < size; ++i) out[i * n + t] = a[i];
}
