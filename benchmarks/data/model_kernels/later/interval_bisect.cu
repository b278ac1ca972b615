// Bisection with a stack of intervals that may hold a root.
extern "C" __global__ void interval_bisect(const float *c, float *out, int n) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= n) return;
  float lo[24], hi[24]; int top = 1; lo[0] = 0; hi[0] = 8; float a = c[t] * 4, b = c[n + t]; float sum = 0; int steps = 0;
  while (top > 0 && steps++ < 200) {
    --top; float l = lo[top], h = hi[top], m = .5f * (l + h), r = .5f * (h - l);
    float f = __sinf(a * m) - b, slope = a * r;
    if (fabsf(f) > slope) continue;
    if (r < .02f || top > 21) { sum += m; continue; }
    lo[top] = l; hi[top++] = m; lo[top] = m; hi[top++] = h;
  }
  out[t] = sum;
}
