// Smoothed particles: a list of the neighbours (64 at most, of n <= 128 particles that are the same for
// all threads), gone through twice: for the density, then for the force.
#define MAX_NEIGHBOURS 64

extern "C" __global__ void neighbours(const float *in, float *out, int n) {
  int t = blockIdx.x * blockDim.x + threadIdx.x, stride = gridDim.x * blockDim.x;
  const float *px = in, *py = in + n, *pz = in + 2 * n;
  float x = in[t], y = in[stride + t], z = in[2 * stride + t];
  int list[MAX_NEIGHBOURS], count = 0;
  for (int j = 0; j < n; ++j) {
    float dx = px[j] - x, dy = py[j] - y, dz = pz[j] - z;
    if (dx * dx + dy * dy + dz * dz < 0.16f && count < MAX_NEIGHBOURS) list[count++] = j;
  }
  float density = 0.01f;
  for (int i = 0; i < count; ++i) {
    int j = list[i];
    float dx = px[j] - x, dy = py[j] - y, dz = pz[j] - z;
    float q = 0.16f - (dx * dx + dy * dy + dz * dz);
    density += q * q * q;
  }
  float fx = 0.0f, fy = 0.0f, fz = 0.0f, pressure = 1.0f / density;
  for (int i = 0; i < count; ++i) {
    int j = list[i];
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
