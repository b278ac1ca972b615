// The mean power spectrum of n segments of 16 complex samples: a Fourier transform in place.
__device__ void fft(float *re, float *im) {
  const float cosines[4] = {-1.0f, 0.0f, 0.70710678f, 0.92387953f};
  const float sines[4] = {0.0f, -1.0f, -0.70710678f, -0.38268343f};
  for (int i = 1, j = 0; i < 16; ++i) {
    int bit = 8;
    for (; j & bit; bit >>= 1) j ^= bit;
    j ^= bit;
    if (i < j) {
      float held = re[i];
      re[i] = re[j];
      re[j] = held;
      held = im[i];
      im[i] = im[j];
      im[j] = held;
    }
  }
  for (int length = 2, stage = 0; length <= 16; length <<= 1, ++stage) {
    for (int i = 0; i < 16; i += length) {
      float wr = 1.0f, wi = 0.0f;
      for (int j = i; j < i + length / 2; ++j) {
        int k = j + length / 2;
        float xr = re[k] * wr - im[k] * wi, xi = re[k] * wi + im[k] * wr;
        re[k] = re[j] - xr;
        im[k] = im[j] - xi;
        re[j] += xr;
        im[j] += xi;
        float next = wr * cosines[stage] - wi * sines[stage];
        wi = wr * sines[stage] + wi * cosines[stage];
        wr = next;
      }
    }
  }
}

extern "C" __global__ void fft16(const float *in, float *out, int n) {
  int t = blockIdx.x * blockDim.x + threadIdx.x, stride = gridDim.x * blockDim.x;
  float re[16], im[16], power[16];
  for (int i = 0; i < 16; ++i) power[i] = 0.0f;
  for (int segment = 0; segment < n; ++segment) {
    for (int i = 0; i < 16; ++i) {
      re[i] = in[(segment * 32 + i) * stride + t];
      im[i] = in[(segment * 32 + 16 + i) * stride + t];
    }
    fft(re, im);
    for (int i = 0; i < 16; ++i) power[i] += re[i] * re[i] + im[i] * im[i];
  }
  for (int i = 0; i < 16; ++i) out[i * stride + t] = power[i] / n;
}
