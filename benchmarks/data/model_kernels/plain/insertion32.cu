// launch: block=256
// Sorts 32 numbers by insertion.
extern "C" __global__ void insertion32(const int *in, int *out, int n) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= n) return;
  int v[32];
  for (int i = 0; i < 32; ++i) {
    int x = in[i * n + t], j = i;
    while (j > 0 && v[j - 1] > x) { v[j] = v[j - 1]; --j; }
    v[j] = x;
  }
  for (int i = 0; i < 32; ++i) out[i * n + t] = v[i];
}
