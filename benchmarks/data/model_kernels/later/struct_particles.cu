// A small system of six particles with pair forces, in structures.
struct Body { float x, v, f; };
extern "C" __global__ void struct_particles(const float *in, float *out, int n, int bodies, int steps) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= n) return;
  Body b[6];
  for (int i = 0; i < bodies; ++i) b[i] = {in[i * n + t], 0, 0};
  for (int s = 0; s < steps; ++s) {
    for (int i = 0; i < bodies; ++i) { float f = 0; for (int j = 0; j < bodies; ++j) { float d = b[j].x - b[i].x; f += d * rsqrtf(d * d + .01f); } b[i].f = f; }
    for (int i = 0; i < bodies; ++i) { b[i].v += .01f * b[i].f; b[i].x += .01f * b[i].v; }
  }
  float e = 0;
  for (int i = 0; i < bodies; ++i) e += b[i].v * b[i].v;
  out[t] = e;
}
