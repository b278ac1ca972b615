// Run-length codes of 64 pixels in a buffer, then their cost.
extern "C" __global__ void run_length(const unsigned char *in, int *out, int n) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= n) return;
  unsigned char value[64], length[64]; int runs = 0;
  unsigned char prev = in[t] >> 6; int len = 1;
  for (int i = 1; i < 64; ++i) {
    unsigned char c = in[i * n + t] >> 6;
    if (c == prev) ++len; else { value[runs] = prev; length[runs++] = len; prev = c; len = 1; }
  }
  value[runs] = prev; length[runs++] = len;
  int bits = 0;
  for (int i = 0; i < runs; ++i) bits += value[i] + 32 - __clz(length[i]);
  out[t] = bits;
}
