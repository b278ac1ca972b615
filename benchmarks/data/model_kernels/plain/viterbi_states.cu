// launch: block=256
// Viterbi over 20 states, one for each thread to end in with a transition table in global memory; the last state is traced by data.
extern "C" __global__ void viterbi_states(const float *emit, const float *trans, int *best, int n, int rows) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= n) return;
  float p[20], q[20];
  for (int s = 0; s < 20; ++s) p[s] = 0.f;
  for (int r = 0; r < rows; ++r) {
    float e = emit[r * n + t];
    for (int s = 0; s < 20; ++s) {
      float m = -1e30f;
      for (int k = 0; k < 20; ++k) m = fmaxf(m, p[k] + trans[k * 20 + s]);
      q[s] = m + e * s;
    }
    for (int s = 0; s < 20; ++s) p[s] = q[s];
  }
  int at = 0;
  for (int s = 1; s < 20; ++s) if (p[s] > p[at]) at = s;
  best[t] = at;
}
