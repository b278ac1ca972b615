// Responsibilities of eight components, normalized, and the entropy.
extern "C" __global__ void gmm_assign(const float *x, const float *par, float *out, int n, int comps) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= n) return;
  float r[8]; float total = 0; float v = x[t];
  for (int c = 0; c < comps; ++c) { float d = v - par[2 * c]; r[c] = __expf(-d * d * par[2 * c + 1]); total += r[c]; }
  float h = 0;
  for (int c = 0; c < comps; ++c) { float p = r[c] / total; h -= p * __logf(p + 1e-9f); }
  out[t] = h;
}
