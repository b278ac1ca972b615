// Sorts 12 values per thread many times, for few threads.
extern "C" __global__ void sort_small(const float *x, float *y, int n, int rounds) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= n) return;
  float v[12]; float s = 0;
  for (int r = 0; r < rounds; ++r) {
    for (int i = 0; i < 12; ++i) v[i] = x[((r * 12 + i) & 255) * 4096 + t];
    for (int i = 1; i < 12; ++i) { float e = v[i]; int j = i; while (j > 0 && v[j - 1] > e) { v[j] = v[j - 1]; --j; } v[j] = e; }
    s += v[3] - v[8];
  }
  y[t] = s;
}
void run(const float *x, float *y) { sort_small<<<132, 128>>>(x, y, 132 * 128, 200); }
