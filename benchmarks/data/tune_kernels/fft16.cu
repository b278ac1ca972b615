// A transform of 16 points in registers.
// threads: n / 32
struct C { float x, y; };
__device__ C mul(C a, C b) { return {a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x}; }
__device__ C add(C a, C b) { return {a.x + b.x, a.y + b.y}; }
__device__ C sub(C a, C b) { return {a.x - b.x, a.y - b.y}; }
__global__ void k(float *out, const float *in, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x; int m = n / 32; if (i >= m) return;
  C a[16];
#pragma unroll
  for (int j = 0; j < 16; ++j) a[j] = {in[i + 2 * j * m], in[i + (2 * j + 1) * m]};
#pragma unroll
  for (int s = 8; s >= 1; s /= 2) {
#pragma unroll
    for (int j = 0; j < 16; ++j) if (!(j & s)) {
      float ang = -3.14159265f * (j % s) / s; C w = {__cosf(ang), __sinf(ang)};
      C u = a[j], t = a[j | s]; a[j] = add(u, t); a[j | s] = mul(sub(u, t), w);
    }
  }
#pragma unroll
  for (int j = 0; j < 16; ++j) { out[i + 2 * j * m] = a[j].x; out[i + (2 * j + 1) * m] = a[j].y; }
}
