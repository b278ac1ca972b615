// All four arrays in columns of shared memory: bytes, four of a thread to a word, each thread in its own bank.
#define AT(a, i) a[((i) >> 2) * 1024 + ((i) & 3)]
#define GO(s, c) go[(s) * 1024 + (c)]
extern "C" __global__ void aho(const int *in, int *out, int n) {
  __shared__ unsigned words[28][256];
  int t = blockIdx.x * blockDim.x + threadIdx.x, stride = gridDim.x * blockDim.x;
  unsigned char *go = (unsigned char *)&words[0][threadIdx.x], *fail = go + 16 * 1024, *hits = fail + 4 * 1024,
                *queue = hits + 4 * 1024;
  int states = 1, head = 0, tail = 0;
#pragma unroll
  for (int s = 0; s < 24; ++s) words[s][threadIdx.x] = 0;
#pragma unroll
  for (int p = 0; p < 3; ++p) {
    int word = in[p * stride + t], s = 0;
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      int c = word >> (2 * j) & 3;
      if (GO(s, c) == 0) GO(s, c) = states++;
      s = GO(s, c);
    }
    ++AT(hits, s);
  }
#pragma unroll
  for (int c = 0; c < 4; ++c)
    if (GO(0, c)) AT(queue, tail) = GO(0, c), ++tail;
  while (head < tail) {
    int s = AT(queue, head);
    ++head;
    AT(hits, s) += AT(hits, AT(fail, s));
#pragma unroll
    for (int c = 0; c < 4; ++c) {
      int next = GO(s, c);
      if (next) {
        AT(fail, next) = GO(AT(fail, s), c);
        AT(queue, tail) = next;
        ++tail;
      } else {
        GO(s, c) = GO(AT(fail, s), c);
      }
    }
  }
  int state = 0, found = 0;
  for (int k = 0; k < n; ++k) {
    int word = in[(3 + k) * stride + t];
#pragma unroll
    for (int j = 0; j < 10; ++j) {
      state = GO(state, word >> (2 * j) & 3);
      found += AT(hits, state);
    }
  }
  out[t] = found;
}
