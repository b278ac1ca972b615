// Multiplies two 128-bit numbers digit by digit.
extern "C" __global__ void fraction_bits(const unsigned *a, const unsigned *b, unsigned *out, int n, int words) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= n) return;
  unsigned r[8] = {};
  for (int i = 0; i < words; ++i) {
    unsigned carry = 0, x = a[i * n + t];
    for (int j = 0; j < words; ++j) {
      unsigned long long p = (unsigned long long)x * b[j * n + t] + r[i + j] + carry;
      r[i + j] = (unsigned)p; carry = (unsigned)(p >> 32);
    }
    r[i + words] = carry;
  }
  for (int i = 0; i < 8; ++i) out[i * n + t] = r[i];
}
