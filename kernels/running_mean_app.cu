// A complete application: the running mean with and without local memory, checked on the CPU.
//
// Build and run with a GPU:  nvcc -arch=native running_mean_app.cu -o running_mean && ./running_mean
// Without one, `lmemscope scan` compiles its device code: NVRTC refuses the host headers, so the
// device passes of nvcc take it, and the launches in `run` instantiate both kernels.
//
// Expect: mean_shift<32> with a frame of 0, mean_ring<32> with 128 bytes.

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

constexpr int kWindow = 32;
constexpr int kSeries = 256;
constexpr int kLength = 1000;

template <int WindowSize>
__global__ void mean_shift(const float *in, float *out, int length) {
  float window[WindowSize] = {};
  for (int n = 0; n < length; ++n) {
#pragma unroll
    for (int j = 0; j < WindowSize - 1; ++j) window[j] = window[j + 1];
    window[WindowSize - 1] = in[n * blockDim.x + threadIdx.x];
    float sum = 0.0f;
#pragma unroll
    for (int j = 0; j < WindowSize; ++j) sum += window[j];
    out[n * blockDim.x + threadIdx.x] = sum / WindowSize;
  }
}

template <int WindowSize>
__global__ void mean_ring(const float *in, float *out, int length) {
  float window[WindowSize] = {};
  for (int n = 0; n < length; ++n) {
    window[n % WindowSize] = in[n * blockDim.x + threadIdx.x];
    float sum = 0.0f;
#pragma unroll
    for (int j = 0; j < WindowSize; ++j) sum += window[(j + n) % WindowSize];
    out[n * blockDim.x + threadIdx.x] = sum / WindowSize;
  }
}

static void check(cudaError_t status, const char *what) {
  if (status != cudaSuccess) {
    std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(status));
    std::exit(1);
  }
}

// Launches through a function template: the kernels' arguments are not literal here.
template <int WindowSize>
static std::vector<float> run(bool ring, const std::vector<float> &in) {
  float *device_in = nullptr, *device_out = nullptr;
  const size_t bytes = in.size() * sizeof(float);
  check(cudaMalloc(&device_in, bytes), "cudaMalloc");
  check(cudaMalloc(&device_out, bytes), "cudaMalloc");
  check(cudaMemcpy(device_in, in.data(), bytes, cudaMemcpyHostToDevice), "copy to the device");
  if (ring)
    mean_ring<WindowSize><<<1, kSeries>>>(device_in, device_out, kLength);
  else
    mean_shift<WindowSize><<<1, kSeries>>>(device_in, device_out, kLength);
  check(cudaGetLastError(), "launch");
  std::vector<float> out(in.size());
  check(cudaMemcpy(out.data(), device_out, bytes, cudaMemcpyDeviceToHost), "copy to the host");
  cudaFree(device_in);
  cudaFree(device_out);
  return out;
}

static std::vector<float> reference(const std::vector<float> &in) {
  std::vector<float> out(in.size());
  for (int series = 0; series < kSeries; ++series) {
    for (int n = 0; n < kLength; ++n) {
      double sum = 0.0;
      for (int j = 0; j < kWindow && j <= n; ++j) sum += in[(n - j) * kSeries + series];
      out[n * kSeries + series] = static_cast<float>(sum / kWindow);
    }
  }
  return out;
}

int main() {
  std::mt19937 generator(1);
  std::uniform_real_distribution<float> values(-1.0f, 1.0f);
  std::vector<float> in(kSeries * kLength);
  for (float &value : in) value = values(generator);
  const std::vector<float> expected = reference(in);
  for (bool ring : {false, true}) {
    const std::vector<float> found = run<kWindow>(ring, in);
    double worst = 0.0;
    for (size_t i = 0; i < in.size(); ++i)
      worst = std::fmax(worst, std::fabs(found[i] - expected[i]));
    std::printf("%-10s largest difference %.2e\n", ring ? "mean_ring" : "mean_shift", worst);
    if (worst > 1e-5) return 1;
  }
  return 0;
}
