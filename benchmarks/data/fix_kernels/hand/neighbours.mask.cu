// The list as a mask of 128 bits in registers, in the same order.
#define MAX_NEIGHBOURS 64

extern "C" __global__ void neighbours(const float *in, float *out, int n) {
  int t = blockIdx.x * blockDim.x + threadIdx.x, stride = gridDim.x * blockDim.x;
  const float *px = in, *py = in + n, *pz = in + 2 * n;
  float x = in[t], y = in[stride + t], z = in[2 * stride + t];
  unsigned list[4];
  int count = 0;
#pragma unroll
  for (int w = 0; w < 4; ++w) {
    list[w] = 0;
#pragma unroll 4
    for (int b = 0; b < 32 && 32 * w + b < n; ++b) {
      int j = 32 * w + b;
      float dx = px[j] - x, dy = py[j] - y, dz = pz[j] - z;
      if (dx * dx + dy * dy + dz * dz < 0.16f && count < MAX_NEIGHBOURS) {
        list[w] |= 1u << b;
        ++count;
      }
    }
  }
  unsigned long long lo = (unsigned long long)list[1] << 32 | list[0], hi = (unsigned long long)list[3] << 32 | list[2], low, high;
  float density = 0.01f;
  low = lo, high = hi;
  while (low | high) {
    int j = low ? __ffsll(low) - 1 : 63 + __ffsll(high);
    if (low) low &= low - 1;
    else high &= high - 1;
    float dx = px[j] - x, dy = py[j] - y, dz = pz[j] - z;
    float q = 0.16f - (dx * dx + dy * dy + dz * dz);
    density += q * q * q;
  }
  float fx = 0.0f, fy = 0.0f, fz = 0.0f, pressure = 1.0f / density;
  low = lo, high = hi;
  while (low | high) {
    int j = low ? __ffsll(low) - 1 : 63 + __ffsll(high);
    if (low) low &= low - 1;
    else high &= high - 1;
    float dx = px[j] - x, dy = py[j] - y, dz = pz[j] - z;
    float r = sqrtf(dx * dx + dy * dy + dz * dz) + 1e-3f;
    float force = pressure * (0.4f - r) * (0.4f - r) / r;
    fx += force * dx;
    fy += force * dy;
    fz += force * dz;
  }
  out[t] = fx;
  out[stride + t] = fy;
  out[2 * stride + t] = fz;
}
