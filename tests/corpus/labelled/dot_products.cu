// Labels: tests/labels.py says what they mean. Dot products of bytes, which NVRTC refuses to compile
// with -G for some architectures.

#ifndef EXPERIMENT
#define AT(run_time, constant) (run_time)
#else
#define AT(run_time, constant) (constant)
#endif

/* labels
[[find]]
cause = "dynamic-index"
object = "level"
type = "float[64]"
size = 256
declared = "level"
lines = ["fill", "read"]
primary = ["read"]
index = ["[AT(__dp4a(codes[i * 32 + threadIdx.x], weights, 0) & 63, 3)]", "[__dp4a(codes[i * 32 + threadIdx.x], weights, 0) & 63]"]
sources = ["memory codes", "parameter weights"]
uniformity = "data-dependent"
*/
extern "C" __global__ void quantised(const int *codes, float *y, const float *scale, int weights) {
  float level[64];  //@level
  for (int i = 0; i < 64; ++i) level[i] = scale[i] * scale[i + 1];  //@fill
  float s = 0;
#pragma unroll 1
  for (int i = 0; i < codes[0]; ++i)
    s += level[AT(__dp4a(codes[i * 32 + threadIdx.x], weights, 0) & 63, 3)];  //@read
  y[threadIdx.x] = s;
}

/* labels
[[find]]
cause = "dynamic-index"
object = "hits"
type = "int[20]"
size = 80
declared = "hits"
lines = ["count", "read"]
primary = ["count"]
index = ["[AT(i % 20, 3)]", "[i % 20]"]
sources = ["loop-counter run-time"]
uniformity = "uniform"
*/
extern "C" __global__ void nearest_codes(const int *codes, const int *query, int *y, int n) {
  int hits[20] = {};  //@hits
#pragma unroll 1
  for (int i = 0; i < n; ++i) {
    int distance = __dp4a(codes[i * 32 + threadIdx.x], query[0], 0);
    if (distance > n) hits[AT(i % 20, 3)] += 1;  //@count
  }
  for (int i = 0; i < 20; ++i) y[i * 32 + threadIdx.x] = hits[i];  //@read
}
