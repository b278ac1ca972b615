// Sliding maximum by a monotone deque of positions.
extern "C" __global__ void moving_max(const float *x, float *y, int n, int samples) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= n) return;
  float v[16]; int pos[16]; int head = 0, tail = 0; float s = 0;
  for (int i = 0; i < samples; ++i) {
    float e = x[i * n + t];
    while (tail > head && v[(tail - 1) & 15] <= e) --tail;
    v[tail & 15] = e; pos[tail & 15] = i; ++tail;
    if (pos[head & 15] <= i - 8) ++head;
    s += v[head & 15];
  }
  y[t] = s;
}
