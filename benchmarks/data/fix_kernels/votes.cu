// The class that most of a point's neighbours have.
extern "C" __global__ void votes(const int *in, int *out, int n) {
  int t = blockIdx.x * blockDim.x + threadIdx.x, stride = gridDim.x * blockDim.x;
  int count[10] = {};
  for (int k = 0; k < n; ++k) count[(unsigned)in[k * stride + t] % 10]++;
  int best = 0;
  for (int j = 1; j < 10; ++j)
    if (count[j] > count[best]) best = j;
  out[t] = best;
}
