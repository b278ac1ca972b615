// launch: block=256
// Needleman-Wunsch score with two rows.
extern "C" __global__ void needleman(const unsigned char *a, const unsigned char *b, int *score, int n, int len) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= n) return;
  short row[65];
  for (int j = 0; j <= len; ++j) row[j] = -2 * j;
  for (int i = 1; i <= len; ++i) {
    unsigned char c = a[i * n + t] & 3;
    short diag = row[0];
    row[0] = -2 * i;
    for (int j = 1; j <= len; ++j) {
      short up = row[j];
      short v = diag + (c == (b[j * n + t] & 3) ? 1 : -1);
      v = max(v, max((int)up, (int)row[j - 1]) - 2);
      row[j] = v;
      diag = up;
    }
  }
  score[t] = row[len];
}
