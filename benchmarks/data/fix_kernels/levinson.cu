// Linear prediction: the Levinson-Durbin recursion of order n (at most 12) for eight frames.
#define MAX_ORDER 12

extern "C" __global__ void levinson(const float *in, float *out, int n) {
  int t = blockIdx.x * blockDim.x + threadIdx.x, stride = gridDim.x * blockDim.x;
  float r[MAX_ORDER + 1], a[MAX_ORDER + 1], next[MAX_ORDER + 1];
  for (int frame = 0; frame < 8; ++frame) {
    for (int j = 0; j <= n; ++j) r[j] = in[(frame * (MAX_ORDER + 1) + j) * stride + t];
    r[0] += 4.0f;
    float error = r[0];
    a[0] = 1.0f;
    for (int i = 1; i <= n; ++i) {
      float sum = r[i];
      for (int j = 1; j < i; ++j) sum += a[j] * r[i - j];
      float k = -sum / error;
      for (int j = 1; j < i; ++j) next[j] = a[j] + k * a[i - j];
      for (int j = 1; j < i; ++j) a[j] = next[j];
      a[i] = k;
      error *= 1.0f - k * k;
    }
    float gain = 0.0f;
    for (int j = 0; j <= n; ++j) gain += a[j] * a[j];
    out[frame * stride + t] = error * gain;
  }
}
