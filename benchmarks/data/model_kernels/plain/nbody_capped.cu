// launch: block=128 bodies=256
// Four targets per thread with all terms of a multipole, bounds for 12 blocks of 128.
extern "C" __global__ void __launch_bounds__(128, 12) nbody_capped(const float4 *p, float4 *a, int n, int bodies) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= n) return;
  float x[4], y[4], z[4], fx[4], fy[4], fz[4], q[6];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    float4 v = p[i * n + t];
    x[i] = v.x; y[i] = v.y; z[i] = v.z;
    fx[i] = fy[i] = fz[i] = 0.f;
  }
#pragma unroll
  for (int i = 0; i < 6; ++i) q[i] = 0.f;
  for (int j = 0; j < bodies; ++j) {
    float4 b = p[j];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      float dx = b.x - x[i], dy = b.y - y[i], dz = b.z - z[i];
      float r = rsqrtf(dx * dx + dy * dy + dz * dz + 0.01f), m = b.w * r * r * r;
      fx[i] += m * dx; fy[i] += m * dy; fz[i] += m * dz;
      q[0] += m * dx * dx; q[1] += m * dy * dy; q[2] += m * dz * dz;
      q[3] += m * dx * dy; q[4] += m * dy * dz; q[5] += m * dz * dx;
    }
  }
#pragma unroll
  for (int i = 0; i < 4; ++i) a[i * n + t] = make_float4(fx[i] + q[i], fy[i] + q[i + 1], fz[i] + q[i + 2], 0.f);
}
