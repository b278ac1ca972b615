// launch: block=256
// A curve of 12 knots passed by value and searched.
struct Curve { float x[12], y[12]; int used; };
extern "C" __global__ void tone_curve(Curve c, const float *in, float *out, int n, int rows) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= n) return;
  c.y[0] *= 0.5f;
  float s = 0.f;
  for (int r = 0; r < rows; ++r) {
    float v = in[r * n + t];
    int i = (int)(v * 10.9f);
    s += c.y[i] + (v - c.x[i]) * (c.y[i + 1] - c.y[i]);
  }
  out[t] = s;
}
