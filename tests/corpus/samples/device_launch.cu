// Kernels that launch kernels.
#include <cstdio>

__global__ void child(float *data, int first) { data[first + threadIdx.x] += 1.0f; }

__global__ void parent(float *data, int parts) {
  if (threadIdx.x < parts) child<<<1, 32>>>(data, threadIdx.x * 32);
}

int main() {
  parent<<<1, 4>>>(nullptr, 4);
  std::puts("done");
}
