// The first neighbours within a radius, up to 16, then their mean distance.
extern "C" __global__ void ball_query(const float *xyz, float *out, int n, int points, float radius) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= n) return;
  float x = xyz[3 * t], y = xyz[3 * t + 1], z = xyz[3 * t + 2];
  int found[16]; float d2[16]; int count = 0;
  for (int p = 0; p < points && count < 16; ++p) {
    float dx = xyz[3 * p] - x, dy = xyz[3 * p + 1] - y, dz = xyz[3 * p + 2] - z, d = dx * dx + dy * dy + dz * dz;
    if (d < radius) { found[count] = p; d2[count++] = d; }
  }
  float s = 0;
  for (int i = 0; i < count; ++i) s += sqrtf(d2[i]) * (found[i] & 3);
  out[t] = count ? s / count : -1.f;
}
