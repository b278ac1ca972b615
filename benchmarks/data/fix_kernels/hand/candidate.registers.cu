// The digits in one 64-bit register, the first on top in the end; the salt is hashed once.
#define STEP(h, c) (h) += (c); (h) += (h) << 10; (h) ^= (h) >> 6
extern "C" __global__ void candidate(const int *in, int *out, int n) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned best = 0xffffffffu, first = (unsigned)in[t] * 256, salt = 0;
  STEP(salt, 's'); STEP(salt, 'a'); STEP(salt, 'l'); STEP(salt, 't');
  for (int k = 0; k < n; ++k) {
    unsigned number = first + k, h = salt;
    unsigned long long text = 0;
    do {
      unsigned rest = number / 36, digit = number - rest * 36;
      text = text << 8 | (digit + (digit < 10 ? '0' : 'a' - 10));
      number = rest;
    } while (number);
    do {
      STEP(h, (unsigned)text & 255);
      text >>= 8;
    } while (text);
    h += h << 3;
    h ^= h >> 11;
    best = min(best, h + (h << 15));
  }
  out[t] = best >> 1;
}
