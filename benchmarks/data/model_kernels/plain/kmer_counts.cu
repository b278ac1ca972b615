// launch: block=256
// Counts 3-mers over 4 letters of each read: 64 counters of a byte.
extern "C" __global__ void kmer_counts(const unsigned char *reads, unsigned *out, int n, int length) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= n) return;
  unsigned char count[64] = {};
  unsigned k = 0;
  for (int i = 0; i < length; ++i) {
    k = (k << 2 | (reads[i * n + t] & 3)) & 63;
    ++count[k];
  }
  unsigned most = 0;
  for (int i = 0; i < 64; ++i) most = max(most, count[i] * 64u + i);
  out[t] = most;
}
