// A word of shared memory for each state: four next states of a byte each. What else there is for a
// state is four bits in a register: states are numbered below 16. In the end a byte also has the hits.
#define GET(word, i) ((int)((word) >> (4 * (i))) & 15)
extern "C" __global__ void aho(const int *in, int *out, int n) {
  __shared__ unsigned table[16][256];
  int t = blockIdx.x * blockDim.x + threadIdx.x, stride = gridDim.x * blockDim.x, lane = threadIdx.x;
  unsigned long long fail = 0, hits = 0, queue = 0;
  int states = 1, head = 0, tail = 0;
#pragma unroll
  for (int s = 0; s < 16; ++s) table[s][lane] = 0;
#pragma unroll
  for (int p = 0; p < 3; ++p) {
    int word = in[p * stride + t], s = 0;
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      int shift = (word >> (2 * j) & 3) * 8;
      unsigned row = table[s][lane];
      int next = row >> shift & 255;
      if (next == 0) {
        next = states++;
        table[s][lane] = row | (unsigned)next << shift;
      }
      s = next;
    }
    hits += 1ull << (4 * s);
  }
  unsigned root = table[0][lane];
#pragma unroll
  for (int c = 0; c < 4; ++c)
    if (root >> (8 * c) & 255) queue |= (unsigned long long)(root >> (8 * c) & 255) << (4 * tail++);
  while (head < tail) {
    int s = GET(queue, head), f = GET(fail, s);
    ++head;
    hits += (unsigned long long)GET(hits, f) << (4 * s);
    unsigned row = table[s][lane], other = table[f][lane];
#pragma unroll
    for (int c = 0; c < 4; ++c) {
      unsigned next = row >> (8 * c) & 255, instead = other >> (8 * c) & 255;
      if (next) {
        fail |= (unsigned long long)instead << (4 * next);
        queue |= (unsigned long long)next << (4 * tail++);
      } else {
        row |= instead << (8 * c);
      }
    }
    table[s][lane] = row;
  }
  for (int s = 0; s < states; ++s) {
    unsigned row = table[s][lane];
#pragma unroll
    for (int c = 0; c < 4; ++c) row |= (unsigned)GET(hits, row >> (8 * c) & 15) << (8 * c + 4);
    table[s][lane] = row;
  }
  int state = 0, found = 0;
#pragma unroll 2
  for (int k = 0; k < n; ++k) {
    int word = in[(3 + k) * stride + t];
#pragma unroll
    for (int j = 0; j < 10; ++j) {
      unsigned entry = table[state][lane] >> ((word >> (2 * j) & 3) * 8);
      state = entry & 15;
      found += entry >> 4 & 15;
    }
  }
  out[t] = found;
}
