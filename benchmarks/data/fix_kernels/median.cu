// The median of windows of 25 values, by an insertion sort of a copy.
extern "C" __global__ void median(const float *in, float *out, int n) {
  int t = blockIdx.x * blockDim.x + threadIdx.x, stride = gridDim.x * blockDim.x;
  for (int k = 0; k + 25 <= n; ++k) {
    float sorted[25];
#pragma unroll 1
    for (int j = 0; j < 25; ++j) {
      float value = in[(k + j) * stride + t];
      int place = j;
      while (place > 0 && sorted[place - 1] > value) {
        sorted[place] = sorted[place - 1];
        --place;
      }
      sorted[place] = value;
    }
    out[k * stride + t] = sorted[12];
  }
}
