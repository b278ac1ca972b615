// launch: block=256 sweeps=24
// Metropolis on 16 spins with fields in a table per thread.
extern "C" __global__ void spin_glass(const float *h, float *out, int n, int sweeps) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= n) return;
  float field[16];
  signed char spin[16];
  for (int i = 0; i < 16; ++i) { field[i] = h[i * n + t] - 0.5f; spin[i] = 1; }
  unsigned r = t * 9781u + 1;
  float e = 0.f;
  for (int s = 0; s < sweeps; ++s) {
    r = r * 1664525u + 1013904223u;
    int i = r >> 28;
    float d = 2.f * spin[i] * (field[i] + 0.2f * (spin[(i + 1) & 15] + spin[(i + 15) & 15]));
    if (d < 0.f || (r & 1023) < 1024 * __expf(-d)) { spin[i] = -spin[i]; e -= d; }
  }
  out[t] = e;
}
