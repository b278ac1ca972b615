// Decimal digits of numbers, from the last to the first, then a checksum from the first.
extern "C" __global__ void digits(const int *in, int *out, int n) {
  int t = blockIdx.x * blockDim.x + threadIdx.x, stride = gridDim.x * blockDim.x;
  int total = 0;
  for (int k = 0; k < n; ++k) {
    unsigned value = in[k * stride + t];
    unsigned char text[10];
    int length = 0;
    do {
      text[length++] = value % 10;
      value /= 10;
    } while (value);
    int sum = 0;
    while (length) sum = sum * 3 + text[--length];
    total ^= sum;
  }
  out[t] = total;
}
