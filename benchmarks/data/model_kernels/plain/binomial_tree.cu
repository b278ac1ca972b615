// launch: block=256 steps=40
// American put on a binomial tree, values of a level in an array.
extern "C" __global__ void binomial_tree(const float *spot, const float *strike, float *price, int n, int steps) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= n) return;
  float v[48];
  float s = spot[t] + 0.5f, k = strike[t] + 0.5f, u = 1.02f;
  float x = s;
  for (int i = 0; i < steps; ++i) x /= u;
  for (int i = 0; i <= steps; ++i) { v[i] = fmaxf(k - x, 0.f); x *= u * u; }
  for (int l = steps; l > 0; --l)
    for (int i = 0; i < l; ++i) v[i] = fmaxf(0.499f * (v[i] + v[i + 1]), k - s * (2 * i - l) * 0.02f);
  price[t] = v[0];
}
