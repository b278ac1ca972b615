// launch: block=128
// 256-bit multiplication with the limbs of the product in an array, then a reduction by data.
extern "C" __global__ void big_mul(const unsigned *a, const unsigned *b, unsigned *out, int n, int limbs) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= n) return;
  unsigned r[16];
  for (int i = 0; i < 2 * limbs; ++i) r[i] = 0;
  for (int i = 0; i < limbs; ++i) {
    unsigned long long c = 0;
    for (int j = 0; j < limbs; ++j) {
      c += (unsigned long long)(a[i * n + t] * 2654435761u) * (b[j * n + t] * 40503u) + r[i + j];
      r[i + j] = (unsigned)c;
      c >>= 32;
    }
    r[i + limbs] = (unsigned)c;
  }
  for (int i = 0; i < 2 * limbs; ++i) out[i * n + t] = r[i];
}
