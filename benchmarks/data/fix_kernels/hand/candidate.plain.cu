// The text in registers, a byte field for each letter: the salt in one word, the eight letters behind it
// in 64 bits; loops unrolled to the longest word, everything inlined.
typedef unsigned long long Word;

__device__ __forceinline__ unsigned letter(unsigned salt, Word word, int i) {
  return i < 4 ? salt >> (8 * i) & 255 : (unsigned)(word >> (8 * (i - 4))) & 255;
}

__device__ __forceinline__ unsigned hash(unsigned salt, Word word, int length) {
  unsigned h = 0;
#pragma unroll
  for (int i = 0; i < 11; ++i) {
    if (i >= length) break;
    h += letter(salt, word, i);
    h += h << 10;
    h ^= h >> 6;
  }
  h += h << 3;
  h ^= h >> 11;
  return h + (h << 15);
}

__device__ __forceinline__ int spell(unsigned number, Word &word) {
  int length = 0;
  word = 0;
#pragma unroll
  for (int i = 0; i < 7; ++i) {
    if (i > 0 && number == 0) break;
    unsigned digit = number % 36;
    word |= (Word)(digit < 10 ? '0' + digit : 'a' + digit - 10) << (8 * i);
    length = i + 1;
    number /= 36;
  }
#pragma unroll
  for (int i = 0; i < 3; ++i) {
    int j = length - 1 - i;
    if (i >= j) break;
    Word c = (word >> (8 * i) ^ word >> (8 * j)) & 255;
    word ^= c << (8 * i) ^ c << (8 * j);
  }
  return length;
}

extern "C" __global__ void candidate(const int *in, int *out, int n) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  const unsigned salt = 's' | 'a' << 8 | 'l' << 16 | 't' << 24;
  Word word;
  unsigned best = 0xffffffffu, first = (unsigned)in[t] * 256;
  for (int k = 0; k < n; ++k) {
    int length = 4 + spell(first + k, word);
    best = min(best, hash(salt, word, length));
  }
  out[t] = best >> 1;
}
