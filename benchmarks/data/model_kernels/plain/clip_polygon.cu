// launch: block=128
// Area of a polygon clipped by four half planes (Sutherland-Hodgman).
extern "C" __global__ void clip_polygon(const float *in, float *area, int n) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= n) return;
  float2 p[10], q[10];
  int m = 5;
  for (int i = 0; i < 5; ++i) p[i] = make_float2(in[2 * i * n + t], in[(2 * i + 1) * n + t]);
  for (int e = 0; e < 4; ++e) {
    float a = e < 2 ? 1.f - 2.f * e : 0.f, b = e < 2 ? 0.f : 5.f - 2.f * e, c = e & 1 ? 0.8f : -0.2f;
    int k = 0;
    for (int i = 0; i < m; ++i) {
      float2 u = p[i], v = p[i + 1 == m ? 0 : i + 1];
      float du = a * u.x + b * u.y + c, dv = a * v.x + b * v.y + c;
      if (du >= 0.f && k < 10) q[k++] = u;
      if ((du >= 0.f) != (dv >= 0.f) && k < 10) {
        float s = du / (du - dv);
        q[k++] = make_float2(u.x + s * (v.x - u.x), u.y + s * (v.y - u.y));
      }
    }
    m = k;
    for (int i = 0; i < m; ++i) p[i] = q[i];
  }
  float s = 0.f;
  for (int i = 0; i < m; ++i) { float2 u = p[i], v = p[i + 1 == m ? 0 : i + 1]; s += u.x * v.y - v.x * u.y; }
  area[t] = 0.5f * s;
}
