// Mutates genes whose places random numbers choose, then scores the genome.
extern "C" __global__ void mutate_genes(const float *genes, float *fitness, int n, int changes) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= n) return;
  float g[24]; unsigned s = t * 2654435761u + 1;
  for (int i = 0; i < 24; ++i) g[i] = genes[i * n + t];
  for (int c = 0; c < changes; ++c) {
    s = s * 1664525u + 1013904223u; int at = (s >> 16) % 24;
    s = s * 1664525u + 1013904223u; g[at] += (s >> 8) * 1e-8f;
  }
  float f = 0;
  for (int i = 0; i < 24; ++i) f += g[i] * g[i] - 10.f * __cosf(6.28f * g[i]);
  fitness[t] = f;
}
