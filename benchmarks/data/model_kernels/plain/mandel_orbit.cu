// launch: block=256 steps=40
// Keeps the last 20 points of an orbit to find its period.
extern "C" __global__ void mandel_orbit(const float *cr, const float *ci, int *out, int n, int steps) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= n) return;
  float2 z[20];
  for (int i = 0; i < 20; ++i) z[i] = make_float2(0.f, 0.f);
  float a = cr[t] - 0.8f, b = ci[t] * 0.4f;
  int head = 0, period = 0;
  for (int s = 0; s < steps; ++s) {
    float2 u = z[head];
    head = head + 1 == 20 ? 0 : head + 1;
    float2 v = make_float2(u.x * u.x - u.y * u.y + a, 2.f * u.x * u.y + b);
    if (v.x * v.x + v.y * v.y > 4.f) break;
    z[head] = v;
    for (int k = 1; k < 20; ++k) {
      float2 w = z[(head + k) % 20];
      if (fabsf(w.x - v.x) + fabsf(w.y - v.y) < 1e-4f) period = 20 - k;
    }
  }
  out[t] = period;
}
