// Two weights to a register. The table is shifted by 1 or 2 weights, then by 2, 4 and 8 where the number says
// so, and filled up with what is below any value: 24 * 1023 fits in 15 bits.
#define FILL 0x80008000u
template <int WORDS>
__device__ __forceinline__ void move(unsigned (&v)[16], bool wanted) {
#pragma unroll
  for (int i = 15; i >= 0; --i) v[i] = wanted ? (i >= WORDS ? v[i >= WORDS ? i - WORDS : 0] : FILL) : v[i];
}

extern "C" __global__ void knapsack(const int *in, int *out, int n) {
  int t = blockIdx.x * blockDim.x + threadIdx.x, stride = gridDim.x * blockDim.x;
  unsigned best[16];
#pragma unroll
  for (int i = 0; i < 16; ++i) best[i] = 0;
#pragma unroll 1
  for (int k = 0; k < n; ++k) {
    int thing = in[k * stride + t], less = thing & 15;
    unsigned value = (thing >> 4 & 1023) * 0x10001u, v[16];
    unsigned odd = less & 1 ? 0x3210 : 0x5432;
#pragma unroll
    for (int i = 0; i < 16; ++i) {
      unsigned below = i > 0 ? best[i > 0 ? i - 1 : 0] : FILL;
      v[i] = __byte_perm(below, best[i], odd);
    }
    move<1>(v, less & 2);
    move<2>(v, less & 4);
    move<4>(v, less & 8);
#pragma unroll
    for (int i = 0; i < 16; ++i) best[i] = __vmaxs2(best[i], v[i] + value);
  }
  out[t] = best[15] >> 16;
}
