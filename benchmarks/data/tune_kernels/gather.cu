// 40 dependent addresses, all loads kept.
// threads: n / 4
__global__ void k(float *out, const float *in, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x; if (i >= n / 4) return;
  float v[40]; int at = i * 97 % n;
#pragma unroll
  for (int j = 0; j < 40; ++j) { v[j] = in[at]; at = (at + 104729) % n; }
  float s = 0;
#pragma unroll
  for (int j = 0; j < 40; ++j) s += v[j] * v[39 - j] * v[(j * 7) % 40];
  out[i] = s;
}
