// launch: block=256 edges=24
// Components of a graph of 16 nodes from a list of edges.
extern "C" __global__ void union_find(const unsigned char *edge, int *parts, int n, int edges) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= n) return;
  unsigned char up[16];
  for (int i = 0; i < 16; ++i) up[i] = i;
  int left = 16;
  for (int e = 0; e < edges; ++e) {
    int v = edge[e * n + t], a = v & 15, b = v >> 4;
    while (up[a] != a) a = up[a] = up[up[a]];
    while (up[b] != b) b = up[b] = up[up[b]];
    if (a != b) { up[a] = b; --left; }
  }
  parts[t] = left;
}
