// A texture object sampled by a kernel.
#include <cstring>
#include <cuda_runtime.h>

__global__ void rotate(cudaTextureObject_t image, float *out, int width, int height, float angle) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  float u = x - width * 0.5f, v = y - height * 0.5f, s, c;
  __sincosf(angle, &s, &c);
  out[y * width + x] = tex2D<float>(image, u * c - v * s + width * 0.5f, u * s + v * c + height * 0.5f);
}

int main() {
  cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
  cudaArray_t array;
  cudaMallocArray(&array, &format, 64, 64);
  cudaResourceDesc resource;
  std::memset(&resource, 0, sizeof resource);
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = array;
  cudaTextureDesc description;
  std::memset(&description, 0, sizeof description);
  cudaTextureObject_t image = 0;
  cudaCreateTextureObject(&image, &resource, &description, nullptr);
  rotate<<<dim3(4, 4), dim3(16, 16)>>>(image, nullptr, 64, 64, 0.3f);
}
