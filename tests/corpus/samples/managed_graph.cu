// Managed memory, device variables, a captured graph.
#include <cstdio>
#include <cuda_runtime.h>

__device__ unsigned long long hits;
__managed__ float weights[256];

__global__ void train(const float *x, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) {
    weights[i & 255] += 0.01f * x[i];
    if (x[i] > 1.0f) atomicAdd(&hits, 1ull);
  }
}

int main() {
  cudaStream_t stream;
  cudaStreamCreate(&stream);
  cudaGraph_t graph;
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
  for (int step = 0; step < 3; ++step) train<<<1, 256, 0, stream>>>(nullptr, 0);
  cudaStreamEndCapture(stream, &graph);
  unsigned long long seen = 0;
  cudaMemcpyFromSymbol(&seen, hits, sizeof seen);
  std::printf("%llu\n", seen);
}
