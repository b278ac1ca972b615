// The keys in columns of shared memory, and which are used in the bits of a register.
extern "C" __global__ void cells(const int *in, int *out, int n) {
  __shared__ int keys[16][256];
  int t = blockIdx.x * blockDim.x + threadIdx.x, stride = gridDim.x * blockDim.x;
  int lane = threadIdx.x, count = 0;
  unsigned used = 0;
  for (int k = 0; k < n; ++k) {
    int key = in[k * stride + t] & 63;
    bool room = false;
    for (int probe = 0; probe < 16; ++probe) {
      int at = (key + probe) & 15;
      if (!(used >> at & 1)) {
        used |= 1u << at;
        keys[at][lane] = key;
        room = ++count < 16;
        break;
      }
      if (keys[at][lane] == key) {
        room = true;
        break;
      }
    }
    if (!room) break;
  }
  out[t] = count;
}
