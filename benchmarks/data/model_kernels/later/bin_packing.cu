// First-fit packing of 24 items into bins.
extern "C" __global__ void bin_packing(const float *items, int *out, int n, int count) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= n) return;
  float room[24]; int bins = 0;
  for (int i = 0; i < count; ++i) {
    float w = items[i * n + t] * .6f; int b = 0;
    while (b < bins && room[b] < w) ++b;
    if (b == bins) room[bins++] = 1.f;
    room[b] -= w;
  }
  out[t] = bins;
}
