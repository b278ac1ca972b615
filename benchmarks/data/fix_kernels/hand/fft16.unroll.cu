// All loops unrolled: the permutation happens while loading, and the twiddle factors become constants.
template <int LENGTH>
__device__ __forceinline__ void stage(float (&re)[16], float (&im)[16], float cosine, float sine) {
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

extern "C" __global__ void fft16(const float *in, float *out, int n) {
  int t = blockIdx.x * blockDim.x + threadIdx.x, stride = gridDim.x * blockDim.x;
  float power[16];
#pragma unroll
  for (int i = 0; i < 16; ++i) power[i] = 0.0f;
#pragma unroll 1
  for (int segment = 0; segment < n; ++segment) {
    float re[16], im[16];
#pragma unroll
    for (int i = 0; i < 16; ++i) {
      int j = (i & 1) << 3 | (i & 2) << 1 | (i & 4) >> 1 | i >> 3;
      re[i] = in[(segment * 32 + j) * stride + t];
      im[i] = in[(segment * 32 + 16 + j) * stride + t];
    }
    stage<2>(re, im, -1.0f, 0.0f);
    stage<4>(re, im, 0.0f, -1.0f);
    stage<8>(re, im, 0.70710678f, -0.70710678f);
    stage<16>(re, im, 0.92387953f, -0.38268343f);
#pragma unroll
    for (int i = 0; i < 16; ++i) power[i] += re[i] * re[i] + im[i] * im[i];
  }
#pragma unroll
  for (int i = 0; i < 16; ++i) out[i * stride + t] = power[i] / n;
}
