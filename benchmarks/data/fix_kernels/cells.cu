// How many different keys a thread meets: a table with linear probing, in a structure.
struct Cells {
  int keys[16];
  unsigned char used[16];
  int count;
};

__device__ bool insert(Cells *cells, int key) {
  for (int probe = 0; probe < 16; ++probe) {
    int at = (key + probe) & 15;
    if (!cells->used[at]) {
      cells->used[at] = 1;
      cells->keys[at] = key;
      return ++cells->count < 16;
    }
    if (cells->keys[at] == key) return true;
  }
  return false;
}

extern "C" __global__ void cells(const int *in, int *out, int n) {
  int t = blockIdx.x * blockDim.x + threadIdx.x, stride = gridDim.x * blockDim.x;
  Cells seen;
  seen.count = 0;
  for (int k = 0; k < 16; ++k) seen.used[k] = 0;
  for (int k = 0; k < n; ++k)
    if (!insert(&seen, in[k * stride + t] & 63)) break;
  out[t] = seen.count;
}
