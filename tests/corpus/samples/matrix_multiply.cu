// Tiled product with a register tile; one variant indexes its tile at run time.
#include <chrono>
#include <iostream>

constexpr int TILE = 16, PER_THREAD = 4;

__global__ void multiply(const float *a, const float *b, float *c, int n) {
  __shared__ float left[TILE][TILE], right[TILE][TILE];
  float own[PER_THREAD] = {};
  for (int step = 0; step < n / TILE; ++step) {
    left[threadIdx.y][threadIdx.x] = a[threadIdx.y * n + step * TILE + threadIdx.x];
    right[threadIdx.y][threadIdx.x] = b[(step * TILE + threadIdx.y) * n + threadIdx.x];
    __syncthreads();
#pragma unroll
    for (int k = 0; k < TILE; ++k)
#pragma unroll
      for (int p = 0; p < PER_THREAD; ++p) own[p] += left[threadIdx.y][k] * right[k][(threadIdx.x + p) % TILE];
    __syncthreads();
  }
#pragma unroll
  for (int p = 0; p < PER_THREAD; ++p) c[threadIdx.y * n + threadIdx.x + p] = own[p];
}

__global__ void accumulate(const float *a, const int *slot, float *c, int n) {
  float own[TILE] = {};
  for (int k = 0; k < n; ++k) own[slot[k]] += a[k * n + threadIdx.x];
  for (int k = 0; k < TILE; ++k) c[k * n + threadIdx.x] = own[k];
}

int main() {
  auto begin = std::chrono::steady_clock::now();
  multiply<<<1, dim3(TILE, TILE)>>>(nullptr, nullptr, nullptr, 0);
  accumulate<<<1, 64>>>(nullptr, nullptr, nullptr, 0);
  cudaDeviceSynchronize();
  std::cout << (std::chrono::steady_clock::now() - begin).count() << "\n";
}
