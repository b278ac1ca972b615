// launch: block=256
// Length of the best match of each word within a window of the last 16 bytes.
extern "C" __global__ void lz_window(const unsigned char *data, int *out, int n, int length) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= n) return;
  unsigned char window[16] = {};
  int head = 0, total = 0;
  for (int i = 0; i < length; ++i) {
    unsigned char c = data[i * n + t] & 7;
    int best = 0;
    for (int o = 1; o < 16; ++o) {
      int m = 0;
      while (m < 4 && window[(head - o - m) & 15] == window[(head - m) & 15]) ++m;
      best = max(best, m);
    }
    total += best;
    head = (head + 1) & 15;
    window[head] = c;
  }
  out[t] = total;
}
