// launch: block=256
// Beam search of width 4 over 8 symbols.
struct Beam { float score; int code; };
extern "C" __global__ void beam4(const float *logits, int *best, int n, int rows) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= n) return;
  Beam beam[4];
  for (int i = 0; i < 4; ++i) beam[i] = {i ? -1e9f : 0.f, 0};
  for (int r = 0; r < rows; ++r) {
    Beam next[4];
    int used = 0;
    for (int i = 0; i < 4; ++i)
      for (int s = 0; s < 8; ++s) {
        float v = beam[i].score + logits[(r * 8 + s) % 64 * n + t];
        int at = used;
        while (at > 0 && next[at - 1].score < v) --at;
        if (at >= 4) continue;
        if (used < 4) ++used;
        for (int k = used - 1; k > at; --k) next[k] = next[k - 1];
        next[at] = {v, beam[i].code * 8 + s};
      }
    for (int i = 0; i < 4; ++i) beam[i] = next[i];
  }
  best[t] = beam[0].code;
}
