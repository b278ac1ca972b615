// Edit distance of two strings of up to 20 letters with one row.
extern "C" __global__ void levenshtein_row(const unsigned char *a, const unsigned char *b, int *out, int n, int la, int lb) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= n) return;
  unsigned char row[21];
  for (int j = 0; j <= lb; ++j) row[j] = j;
  for (int i = 1; i <= la; ++i) {
    int diag = row[0], ca = a[i * n + t] & 7; row[0] = i;
    for (int j = 1; j <= lb; ++j) {
      int up = row[j], v = min(min(up, (int)row[j - 1]) + 1, diag + (ca != (b[j] & 7)));
      diag = up; row[j] = v;
    }
  }
  out[t] = row[lb];
}
