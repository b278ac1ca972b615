// Walks a small trie of keywords, remembering the path.
extern "C" __global__ void trie_walk(const int *child, const unsigned char *text, int *out, int n, int length) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= n) return;
  short path[16]; int depth = 0, hits = 0; path[0] = 0;
  for (int i = 0; i < length; ++i) {
    int c = text[i * n + t] & 3, next = child[path[depth] * 4 + c] & 31;
    if (next > 8 && depth < 15) path[++depth] = next;
    else { hits += depth; depth = depth > 1 ? depth - 2 : 0; }
  }
  out[t] = hits + path[depth];
}
