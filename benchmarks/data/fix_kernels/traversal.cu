// Depth first through an implicit tree of 2^n nodes with a stack of 24, pruned by data.
extern "C" __global__ void traversal(const float *in, int *out, int n) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  int stack[24], top = 0, visited = 0, last = 1 << (n < 16 ? n : 16);
  float wanted = in[t];
  stack[top++] = 1;
  while (top > 0) {
    int node = stack[--top];
    ++visited;
    if (2 * node + 1 >= last) continue;
    float split = __int_as_float(0x3f000000 | (node * 2654435761u >> 9)) ;
    if (wanted < split + 0.05f) stack[top++] = 2 * node;
    if (wanted > split - 0.05f) stack[top++] = 2 * node + 1;
  }
  out[t] = visited;
}
