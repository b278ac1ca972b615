// The median of the last nine values, by an insertion sort of a copy.
extern "C" __global__ void median(const float *in, float *out, int n) {
  int t = blockIdx.x * blockDim.x + threadIdx.x, stride = gridDim.x * blockDim.x;
  for (int k = 0; k + 9 <= n; ++k) {
    float sorted[9];
    for (int j = 0; j < 9; ++j) {
      float value = in[(k + j) * stride + t];
      int place = j;
      while (place > 0 && sorted[place - 1] > value) {
        sorted[place] = sorted[place - 1];
        --place;
      }
      sorted[place] = value;
    }
    out[k * stride + t] = sorted[4];
  }
}
