// A class with device methods and a member array that is indexed at run time.
#include <cassert>
#include <cuda_runtime.h>

class Ring {
 public:
  __device__ explicit Ring(float fill) {
    for (float &value : values_) value = fill;
  }
  __device__ void push(float value) { values_[next_++ % SIZE] = value; }
  __device__ float oldest() const { return values_[next_ % SIZE]; }

 private:
  static constexpr int SIZE = 40;
  float values_[SIZE];
  unsigned next_ = 0;
};

__global__ void delay(const float *in, float *out, int n) {
  Ring ring(0.0f);
  for (int i = 0; i < n; ++i) {
    out[i * blockDim.x + threadIdx.x] = ring.oldest();
    ring.push(in[i * blockDim.x + threadIdx.x]);
  }
}

int main() {
  delay<<<1, 128>>>(nullptr, nullptr, 0);
  assert(cudaDeviceSynchronize() != cudaErrorUnknown);
}
