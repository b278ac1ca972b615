// Counts and first positions of letters, then walks back through a text of 24.
extern "C" __global__ void burrows_wheeler(const unsigned char *text, int *out, int n) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= n) return;
  unsigned char last[24], rank[24]; int start[5] = {};
  int count[4] = {};
  for (int i = 0; i < 24; ++i) { int c = text[i * n + t] & 3; last[i] = c; rank[i] = count[c]++; }
  for (int c = 0; c < 4; ++c) start[c + 1] = start[c] + count[c];
  int at = 0, h = 0;
  for (int i = 0; i < 24; ++i) { int c = last[at]; h = h * 5 + c; at = start[c] + rank[at]; }
  out[t] = h;
}
