// The table of next states in columns of shared memory, a word of four bytes for a state; the other three
// arrays in 64-bit registers, four bits for an element (states are below 16, hits at most 3).
#define GO(s, c) go[(s) * 1024 + (c)]
typedef unsigned long long Packed;

__device__ __forceinline__ int get(Packed a, int i) { return (int)(a >> (4 * i)) & 15; }

__device__ __forceinline__ void set(Packed &a, int i, int value) {
  a = (a & ~(15ull << (4 * i))) | (Packed)value << (4 * i);
}

extern "C" __global__ void aho(const int *in, int *out, int n) {
  __shared__ unsigned words[16][256];
  int t = blockIdx.x * blockDim.x + threadIdx.x, stride = gridDim.x * blockDim.x;
  unsigned char *go = (unsigned char *)&words[0][threadIdx.x];
  Packed fail = 0, hits = 0, queue = 0;
  int states = 1, head = 0, tail = 0;
#pragma unroll
  for (int s = 0; s < 16; ++s) words[s][threadIdx.x] = 0;
#pragma unroll
  for (int p = 0; p < 3; ++p) {
    int word = in[p * stride + t], s = 0;
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      int c = word >> (2 * j) & 3;
      if (GO(s, c) == 0) GO(s, c) = states++;
      s = GO(s, c);
    }
    set(hits, s, get(hits, s) + 1);
  }
#pragma unroll
  for (int c = 0; c < 4; ++c)
    if (GO(0, c)) set(queue, tail++, GO(0, c));
  while (head < tail) {
    int s = get(queue, head++);
    set(hits, s, get(hits, s) + get(hits, get(fail, s)));
#pragma unroll
    for (int c = 0; c < 4; ++c) {
      int next = GO(s, c);
      if (next) {
        set(fail, next, GO(get(fail, s), c));
        set(queue, tail++, next);
      } else {
        GO(s, c) = GO(get(fail, s), c);
      }
    }
  }
  int state = 0, found = 0;
  for (int k = 0; k < n; ++k) {
    int word = in[(3 + k) * stride + t];
#pragma unroll
    for (int j = 0; j < 10; ++j) {
      state = GO(state, word >> (2 * j) & 3);
      found += get(hits, state);
    }
  }
  out[t] = found;
}
