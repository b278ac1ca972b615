// All in registers: every loop unrolled, the stages by a template, the places of the permutation in a
// table that the compiler resolves.
template <int LENGTH>
__device__ __forceinline__ void butterflies(float (&re)[16], float (&im)[16], float cosine, float sine) {
#pragma unroll
  for (int i = 0; i < 16; i += LENGTH) {
    float wr = 1.0f, wi = 0.0f;
#pragma unroll
    for (int j = i; j < i + LENGTH / 2; ++j) {
      int k = j + LENGTH / 2;
      float xr = re[k] * wr - im[k] * wi, xi = re[k] * wi + im[k] * wr;
      re[k] = re[j] - xr;
      im[k] = im[j] - xi;
      re[j] += xr;
      im[j] += xi;
      float next = wr * cosine - wi * sine;
      wi = wr * sine + wi * cosine;
      wr = next;
    }
  }
}

__device__ __forceinline__ void fft(float (&re)[16], float (&im)[16]) {
  constexpr int reversed[16] = {0, 8, 4, 12, 2, 10, 6, 14, 1, 9, 5, 13, 3, 11, 7, 15};
#pragma unroll
  for (int i = 1; i < 16; ++i) {
    const int j = reversed[i];
    if (i < j) {
      float held = re[i];
      re[i] = re[j];
      re[j] = held;
      held = im[i];
      im[i] = im[j];
      im[j] = held;
    }
  }
  butterflies<2>(re, im, -1.0f, 0.0f);
  butterflies<4>(re, im, 0.0f, -1.0f);
  butterflies<8>(re, im, 0.70710678f, -0.70710678f);
  butterflies<16>(re, im, 0.92387953f, -0.38268343f);
}

extern "C" __global__ void __launch_bounds__(256) fft16(const float *in, float *out, int n) {
  int t = blockIdx.x * blockDim.x + threadIdx.x, stride = gridDim.x * blockDim.x;
  float re[16], im[16], power[16];
#pragma unroll
  for (int i = 0; i < 16; ++i) power[i] = 0.0f;
#pragma unroll 1
  for (int segment = 0; segment < n; ++segment) {
#pragma unroll
    for (int i = 0; i < 16; ++i) {
      re[i] = in[(segment * 32 + i) * stride + t];
      im[i] = in[(segment * 32 + 16 + i) * stride + t];
    }
    fft(re, im);
#pragma unroll
    for (int i = 0; i < 16; ++i) power[i] += re[i] * re[i] + im[i] * im[i];
  }
#pragma unroll
  for (int i = 0; i < 16; ++i) out[i * stride + t] = power[i] / n;
}
