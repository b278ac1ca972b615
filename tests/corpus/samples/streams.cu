// Several streams, pinned memory, asynchronous copies.
#include <array>
#include <memory>
#include <cuda_runtime.h>

__global__ void scale(float *data, float factor, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    data[i] *= factor;
}

int main() {
  constexpr int parts = 4, n = 1 << 16;
  std::array<cudaStream_t, parts> streams;
  float *host, *device;
  cudaMallocHost(&host, parts * n * sizeof(float));
  cudaMalloc(&device, parts * n * sizeof(float));
  for (int p = 0; p < parts; ++p) {
    cudaStreamCreate(&streams[p]);
    cudaMemcpyAsync(device + p * n, host + p * n, n * sizeof(float), cudaMemcpyHostToDevice, streams[p]);
    scale<<<64, 256, 0, streams[p]>>>(device + p * n, 2.0f, n);
  }
  for (auto stream : streams) cudaStreamSynchronize(stream);
  auto owner = std::unique_ptr<float, void (*)(float *)>(host, [](float *p) { cudaFreeHost(p); });
}
