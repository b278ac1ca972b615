// A generic kernel that takes an extended lambda (nvcc: --extended-lambda).
#include <cstdio>

template <typename F>
__global__ void for_each(int n, F f) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) f(i);
}

int main() {
  float *data = nullptr;
  float factor = 2.0f;
  for_each<<<1, 128>>>(0, [=] __device__(int i) { data[i] *= factor; });
  for_each<<<1, 128>>>(0, [=] __device__(int i) {
    float own[64];
    for (int k = 0; k < 64; ++k) own[k] = data[k];
    float sum = 0;
    for (int k = 0; k < i; ++k) sum += own[((int)data[k]) & 63];
    data[i] = sum;
  });
  std::puts("done");
}
