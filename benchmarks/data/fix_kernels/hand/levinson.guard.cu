// Everything unrolled to the largest order, with a test of the order: all in registers.
#define MAX_ORDER 12
extern "C" __global__ void levinson(const float *in, float *out, int n) {
  int t = blockIdx.x * blockDim.x + threadIdx.x, stride = gridDim.x * blockDim.x;
#pragma unroll 1
  for (int frame = 0; frame < 8; ++frame) {
    float r[MAX_ORDER + 1], a[MAX_ORDER + 1];
#pragma unroll
    for (int j = 0; j <= MAX_ORDER; ++j) {
      r[j] = 0.0f;
      a[j] = 0.0f;
      if (j <= n) r[j] = in[(frame * (MAX_ORDER + 1) + j) * stride + t];
    }
    r[0] += 4.0f;
    float error = r[0];
    a[0] = 1.0f;
#pragma unroll
    for (int i = 1; i <= MAX_ORDER; ++i) {
      if (i <= n) {
        float sum = r[i];
#pragma unroll
        for (int j = 1; j < i; ++j) sum += a[j] * r[i - j];
        float k = -sum / error;
#pragma unroll
        for (int j = 1; j <= i / 2; ++j) {
          float low = a[j], high = a[i - j];
          a[j] = low + k * high;
          if (i - j != j) a[i - j] = high + k * low;
        }
        a[i] = k;
        error *= 1.0f - k * k;
      }
    }
    float gain = 0.0f;
#pragma unroll
    for (int j = 0; j <= MAX_ORDER; ++j) gain += a[j] * a[j];
    out[frame * stride + t] = error * gain;
  }
}
