// Edit distance of two words of up to 32 letters, one row at a time.
extern "C" __global__ void edit_distance(const int *in, int *out, int n) {
  int t = blockIdx.x * blockDim.x + threadIdx.x, stride = gridDim.x * blockDim.x;
  int row[33], length = n < 32 ? n : 32;
#pragma unroll 1
  for (int j = 0; j <= length; ++j) row[j] = j;
  for (int k = 0; k < length; ++k) {
    int before = row[0], letter = in[k * stride + t] & 3;
    row[0] = k + 1;
#pragma unroll 1
    for (int j = 1; j <= length; ++j) {
      int substituted = before + (letter != (in[(j + 31) * stride + t] & 3));
      before = row[j];
      row[j] = min(min(row[j], row[j - 1]) + 1, substituted);
    }
  }
  out[t] = row[length];
}
