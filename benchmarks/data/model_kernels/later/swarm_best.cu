// Personal bests of a particle over iterations, in 10 dimensions.
extern "C" __global__ void swarm_best(const float *start, float *out, int n, int iterations) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= n) return;
  float x[10], v[10], best[10]; float fbest = 1e30f; unsigned s = t + 7;
  for (int i = 0; i < 10; ++i) { x[i] = start[i * n + t]; v[i] = 0; best[i] = x[i]; }
  for (int it = 0; it < iterations; ++it) {
    float f = 0;
    for (int i = 0; i < 10; ++i) f += x[i] * x[i];
    if (f < fbest) { fbest = f; for (int i = 0; i < 10; ++i) best[i] = x[i]; }
    int at = it % 10;
    s = s * 1664525u + 1013904223u;
    v[at] = .7f * v[at] + (s >> 9) * 1e-7f * (best[at] - x[at]);
    x[at] += v[at] - .01f * x[(at + 3) % 10];
  }
  out[t] = fbest;
}
