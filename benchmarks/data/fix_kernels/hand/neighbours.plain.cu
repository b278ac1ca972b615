// The list in columns of shared memory: as bytes (n <= 128), four of a thread to a word, each thread in its
// own bank.
#define MAX_NEIGHBOURS 64
#define LIST(i) list[((i) >> 2) * 1024 + ((i) & 3)]

extern "C" __global__ void neighbours(const float *in, float *out, int n) {
  __shared__ unsigned words[MAX_NEIGHBOURS / 4][256];
  int t = blockIdx.x * blockDim.x + threadIdx.x, stride = gridDim.x * blockDim.x;
  const float *px = in, *py = in + n, *pz = in + 2 * n;
  float x = in[t], y = in[stride + t], z = in[2 * stride + t];
  unsigned char *list = (unsigned char *)&words[0][threadIdx.x];
  int count = 0;
  for (int j = 0; j < n; ++j) {
    float dx = px[j] - x, dy = py[j] - y, dz = pz[j] - z;
    if (dx * dx + dy * dy + dz * dz < 0.16f && count < MAX_NEIGHBOURS) LIST(count) = j, ++count;
  }
  float density = 0.01f;
  for (int i = 0; i < count; ++i) {
    int j = LIST(i);
    float dx = px[j] - x, dy = py[j] - y, dz = pz[j] - z;
    float q = 0.16f - (dx * dx + dy * dy + dz * dz);
    density += q * q * q;
  }
  float fx = 0.0f, fy = 0.0f, fz = 0.0f, pressure = 1.0f / density;
  for (int i = 0; i < count; ++i) {
    int j = LIST(i);
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
