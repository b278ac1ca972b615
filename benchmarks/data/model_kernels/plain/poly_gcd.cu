// launch: block=256
// Degree of the gcd of two polynomials modulo 31.
extern "C" __global__ void poly_gcd(const unsigned char *a, const unsigned char *b, int *out, int n) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= n) return;
  int p[9], q[9], dp = 8, dq = 6;
  for (int i = 0; i < 9; ++i) { p[i] = a[i * n + t] % 31; q[i] = i < 7 ? b[i * n + t] % 31 : 0; }
  while (dp > 0 && !p[dp]) --dp;
  while (dq > 0 && !q[dq]) --dq;
  while (dq > 0) {
    while (dp >= dq) {
      int f = p[dp], g = q[dq];
      for (int i = 0; i <= dp; ++i) p[i] = p[i] * g % 31;
      for (int i = 0; i <= dq; ++i) p[i + dp - dq] = (p[i + dp - dq] + 31 * 31 - q[i] * f) % 31;
      --dp;
      while (dp > 0 && !p[dp]) --dp;
      if (dp == 0) break;
    }
    for (int i = 0; i < 9; ++i) { int s = p[i]; p[i] = q[i]; q[i] = s; }
    int d = dp; dp = dq; dq = d;
    if (!q[dq]) break;
  }
  out[t] = dp;
}
