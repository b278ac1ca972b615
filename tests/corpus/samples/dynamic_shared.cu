// Dynamic shared memory in two types, with an opt-in above 48 KB.
#include <cuda_runtime.h>

extern __shared__ unsigned char storage[];

template <typename T>
__device__ T *shared_as() {
  return reinterpret_cast<T *>(storage);
}

template <typename T>
__global__ void transpose(const T *in, T *out, int width) {
  T *tile = shared_as<T>();
  int x = threadIdx.x, y = threadIdx.y;
  tile[y * 33 + x] = in[y * width + x];
  __syncthreads();
  out[y * width + x] = tile[x * 33 + y];
}

int main() {
  cudaFuncSetAttribute(transpose<double>, cudaFuncAttributeMaxDynamicSharedMemorySize, 65536);
  transpose<float><<<1, dim3(32, 32), 32 * 33 * 4>>>(nullptr, nullptr, 32);
  transpose<double><<<1, dim3(32, 32), 32 * 33 * 8>>>(nullptr, nullptr, 32);
}
