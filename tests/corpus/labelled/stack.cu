// Memory of a run-time size, in a file with host code. -DEXPERIMENT takes the cause of local memory
// away from every kernel here: its frame is then 0.

#include <cstdio>

#ifdef EXPERIMENT
#define AT(run_time, constant) (constant)
#define TAKE(count) nullptr
#define FOR_EACH(i, count) for (int i = 0; i < 0; ++i)
#else
#define AT(run_time, constant) (run_time)
#define TAKE(count) static_cast<float *>(alloca((count) * sizeof(float)))
#define FOR_EACH(i, count) for (int i = 0; i < (count); ++i)
#endif

/* labels
[[find]]
cause = "alloca"
lines = ["scratch_fill", "scratch_use"]
primary = ["scratch_taken", "scratch_fill", "scratch_use"]
*/
__global__ void run_time_scratch(const float *x, float *y, int n) {
  float *scratch = TAKE(n);                                            //@scratch_taken
  FOR_EACH(i, n) scratch[i] = x[i * 32 + threadIdx.x];                 //@scratch_fill
  float sum = 0.0f;
  FOR_EACH(i, n) sum = sum * 0.5f + scratch[n - 1 - i] * scratch[i];  //@scratch_use
  y[threadIdx.x] = sum;
}

/* labels
[[find]]
cause = "alloca"
lines = ["both_fill", "both_use"]
primary = ["both_taken", "both_fill", "both_use"]

[[find]]
cause = "dynamic-index"
object = "counts"
type = "int[26]"
size = 104
declared = "both_counts"
lines = ["both_clear", "both_count", "both_read"]
primary = ["both_count"]
index = ["[AT(k[i] % 26, 3)]", "[k[i] % 26]"]
sources = ["memory k"]
uniformity = "uniform"
*/
__global__ void scratch_and_array(const float *x, const unsigned *k, float *y, int n) {
  int counts[26];  //@both_counts
#pragma unroll
  for (int i = 0; i < 26; ++i) counts[i] = 0;                     //@both_clear
  for (int i = 0; i < n; ++i) counts[AT(k[i] % 26, 3)] += i;     //@both_count
  float *scratch = TAKE(n);                                       //@both_taken
  FOR_EACH(i, n) scratch[i] = x[i * 32 + threadIdx.x];            //@both_fill
  float sum = 0.0f;
  FOR_EACH(i, n) sum = sum * 0.5f + scratch[n - 1 - i];          //@both_use
#pragma unroll
  for (int i = 0; i < 26; ++i) sum += counts[i] * sum;            //@both_read
  y[threadIdx.x] = sum;
}

/* labels
clean = true
*/
__global__ void scaled(const float *x, float *y, float factor) {
  float four[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) four[i] = x[threadIdx.x * 4 + i] * factor;
  y[threadIdx.x] = (four[0] + four[1]) * (four[2] - four[3]);
}

int main() {
  float *x = nullptr, *y = nullptr;
  unsigned *k = nullptr;
  if (cudaMalloc(&x, 1 << 16) || cudaMalloc(&y, 1 << 16) || cudaMalloc(&k, 1 << 16)) return 1;
  run_time_scratch<<<1, 32>>>(x, y, 17);
  scratch_and_array<<<1, 32>>>(x, k, y, 17);
  scaled<<<1, 32>>>(x, y, 0.5f);
  std::printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
}
