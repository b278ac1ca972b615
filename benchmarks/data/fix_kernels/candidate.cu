// Trying passwords: a number becomes a word in base 36 behind a salt, and the word is hashed.
__device__ __noinline__ unsigned hash(const unsigned char *text, int length) {
  unsigned h = 0;
  for (int i = 0; i < length; ++i) {
    h += text[i];
    h += h << 10;
    h ^= h >> 6;
  }
  h += h << 3;
  h ^= h >> 11;
  return h + (h << 15);
}

__device__ int spell(unsigned number, unsigned char *text) {
  int length = 0;
  do {
    unsigned digit = number % 36;
    text[length++] = digit < 10 ? '0' + digit : 'a' + digit - 10;
    number /= 36;
  } while (number > 0);
  for (int i = 0, j = length - 1; i < j; ++i, --j) {
    unsigned char c = text[i];
    text[i] = text[j];
    text[j] = c;
  }
  return length;
}

extern "C" __global__ void candidate(const int *in, int *out, int n) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned char text[16] = {'s', 'a', 'l', 't'};
  unsigned best = 0xffffffffu, first = (unsigned)in[t] * 256;
  for (int k = 0; k < n; ++k) {
    int length = 4 + spell(first + k, text + 4);
    best = min(best, hash(text, length));
  }
  out[t] = best >> 1;
}
