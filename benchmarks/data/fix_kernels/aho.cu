// Three words of four letters in a text, by an automaton (Aho and Corasick) that each thread builds.
extern "C" __global__ void aho(const int *in, int *out, int n) {
  int t = blockIdx.x * blockDim.x + threadIdx.x, stride = gridDim.x * blockDim.x;
  unsigned char go[16][4], fail[16], hits[16], queue[16];
  int states = 1, head = 0, tail = 0;
  for (int s = 0; s < 16; ++s) {
    for (int c = 0; c < 4; ++c) go[s][c] = 0;
    fail[s] = hits[s] = 0;
  }
  for (int p = 0; p < 3; ++p) {
    int word = in[p * stride + t], s = 0;
    for (int j = 0; j < 4; ++j) {
      int c = word >> (2 * j) & 3;
      if (go[s][c] == 0) go[s][c] = states++;
      s = go[s][c];
    }
    ++hits[s];
  }
  for (int c = 0; c < 4; ++c)
    if (go[0][c]) queue[tail++] = go[0][c];
  while (head < tail) {
    int s = queue[head++];
    hits[s] += hits[fail[s]];
    for (int c = 0; c < 4; ++c) {
      int next = go[s][c];
      if (next) {
        fail[next] = go[fail[s]][c];
        queue[tail++] = next;
      } else {
        go[s][c] = go[fail[s]][c];
      }
    }
  }
  int state = 0, found = 0;
  for (int k = 0; k < n; ++k) {
    int word = in[(3 + k) * stride + t];
    for (int j = 0; j < 10; ++j) {
      state = go[state][word >> (2 * j) & 3];
      found += hits[state];
    }
  }
  out[t] = found;
}
