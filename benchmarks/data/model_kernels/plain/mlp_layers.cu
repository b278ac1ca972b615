// launch: block=256 layers=4
// A network with layers of 16; which layer comes next is run-time.
extern "C" __global__ void mlp_layers(const float *in, const float *w, float *out, int n, int layers) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= n) return;
  float act[2][16];
  for (int i = 0; i < 16; ++i) act[0][i] = in[i * n + t];
  for (int l = 0; l < layers; ++l) {
    float *from = act[l & 1], *to = act[1 - (l & 1)];
    for (int i = 0; i < 16; ++i) {
      float s = 0.f;
      for (int j = 0; j < 16; ++j) s += w[(l * 16 + i) * 16 + j] * from[j];
      to[i] = fmaxf(s, 0.f);
    }
  }
  float s = 0.f;
  for (int i = 0; i < 16; ++i) s += act[layers & 1][i];
  out[t] = s;
}
