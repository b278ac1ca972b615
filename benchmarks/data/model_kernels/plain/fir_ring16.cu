// launch: block=256
// FIR filter of 16 taps with a ring.
extern "C" __global__ void fir_ring16(const float *x, const float *h, float *y, int n, int rows) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= n) return;
  float ring[16];
  for (int i = 0; i < 16; ++i) ring[i] = 0.f;
  int head = 0;
  for (int r = 0; r < rows; ++r) {
    ring[head] = x[r * n + t];
    float s = 0.f;
#pragma unroll
    for (int k = 0; k < 16; ++k) s += h[k] * ring[(head - k) & 15];
    y[r * n + t] = s;
    head = (head + 1) & 15;
  }
}
