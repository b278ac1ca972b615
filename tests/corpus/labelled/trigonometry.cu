// Labels: tests/labels.py says what they mean. Sines, cosines, and what looks like their slow paths.

#ifndef EXPERIMENT
#define AT(run_time, constant) (run_time)
#define NOINLINE __noinline__
#else
#define AT(run_time, constant) (constant)
#define NOINLINE __forceinline__
#endif

/* labels
promoted = [""]
*/
extern "C" __global__ void rotate_float(const float *angle, float2 *point) {
  float s, c;
  AT(sincosf(angle[threadIdx.x], &s, &c), s = c = angle[0]);  //@call
  float2 p = point[threadIdx.x];
  point[threadIdx.x] = make_float2(c * p.x - s * p.y, s * p.x + c * p.y);
}

/* labels
[[find]]
cause = "math-slow-path"
primary = ["call"]
lines = ["call"]
*/
extern "C" __global__ void rotate_double(const double *angle, double2 *point) {
  double s, c;
  AT(sincos(angle[threadIdx.x], &s, &c), s = c = angle[0]);  //@call
  double2 p = point[threadIdx.x];
  point[threadIdx.x] = make_double2(c * p.x - s * p.y, s * p.x + c * p.y);
}

/* labels
promoted = [""]
*/
extern "C" __global__ void slope(const float *angle, float *y, int n) {
  float total = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x) total += AT(tanf(angle[i]), angle[i]);  //@call
  y[threadIdx.x] = total;
}

/* labels
[[find]]
cause = "math-slow-path"
primary = ["call"]
lines = ["call"]
*/
extern "C" __global__ void slope_double(const double *angle, double *y) {
  y[threadIdx.x] = AT(tan(angle[threadIdx.x]), angle[0]);  //@call
}

/* labels
promoted = [""]
*/
extern "C" __global__ void box_muller(const float *u, float *y, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) {
    float radius = sqrtf(-2.0f * logf(u[2 * i]));
    float turn = 6.2831853f * u[2 * i + 1];
    y[2 * i] = radius * AT(cosf(turn), turn);  //@cosine
    y[2 * i + 1] = radius * AT(sinf(turn), turn);  //@sine
  }
}

__device__ __forceinline__ float wave(float phase, float gain) {
  float v = gain * AT(sinf(phase), phase);  //@wave_call
  return v * v;
}

/* labels
promoted = [""]
*/
extern "C" __global__ void interference(const float *x, float *y, int n) {
  float a = wave(x[threadIdx.x], 0.5f);  //@first
  float b = 0;
  for (int i = 0; i < n; ++i) b = b * 0.25f + wave(x[i * 32 + threadIdx.x] + a, b);  //@second
  y[threadIdx.x] = a - b;
}

/* labels
[[find]]
cause = "math-slow-path"
primary = ["wave_call"]
lines = ["wave_call"]
[[find]]
cause = "dynamic-index"
object = "kept"
type = "float[33]"
size = 132
declared = "kept"
lines = ["add", "read"]
primary = ["add"]
index = ["[AT(slot[i], 3)]", "[slot[i]]"]
sources = ["memory slot"]
uniformity = "uniform"
*/
extern "C" __global__ void chirp(const float *x, float *y, const int *slot, int n) {
  float kept[33] = {};  //@kept
  float phase = 0;
  for (int i = 0; i < n; ++i) {
    phase += wave(x[i], phase);  //@first
    kept[AT(slot[i], 3)] += phase;  //@add
  }
  for (int i = 0; i < 33; ++i) phase = phase * 0.5f + kept[i];  //@read
  y[threadIdx.x] = wave(phase, x[threadIdx.x]);  //@second
}

/* labels
[[find]]
cause = "math-slow-path"
primary = ["call"]
lines = ["call"]
[[find]]
cause = "dynamic-index"
object = "bands"
type = "float[36]"
size = 144
declared = "bands"
lines = ["fill", "read"]
primary = ["read"]
index = ["[AT(order[i], 3)]", "[order[i]]"]
sources = ["memory order"]
uniformity = "uniform"
*/
extern "C" __global__ void spectrum(const float *x, float *y, const int *order, int n) {
  float bands[36];  //@bands
#pragma unroll 1
  for (int i = 0; i < 36; ++i) bands[AT(i, 3)] = AT(cosf(x[i] * 0.1f * threadIdx.x), x[i]);  //@fill @call
  for (int i = 0; i < n; ++i) y[i * 32 + threadIdx.x] = bands[AT(order[i], 3)];  //@read
}

/* labels
[[find]]
cause = "math-slow-path"
primary = ["add"]
lines = ["add"]
[[find]]
cause = "dynamic-index"
object = "bands"
type = "double[24]"
size = 192
declared = "bands"
lines = ["add", "read"]
primary = ["add"]
index = ["[AT((i * shift) % 24, 3)]", "[(i * shift) % 24]"]
sources = ["parameter shift", "loop-counter constant"]
uniformity = "uniform"
*/
extern "C" __global__ void spectrum_double(const double *x, double *y, int shift) {
  double bands[24] = {};  //@bands
#pragma unroll 1
  for (int i = 0; i < 96; ++i)
    bands[AT((i * shift) % 24, 3)] += AT(sin(x[i * 32 + threadIdx.x]), x[i]);  //@add
#pragma unroll
  for (int i = 0; i < 24; ++i) y[i * 32 + threadIdx.x] = bands[i];  //@read
}

namespace mine {
__device__ NOINLINE float __internal_trig_reduction_like(const float *x, int k) {
  float parts[28];  //@parts
#pragma unroll
  for (int i = 0; i < 28; ++i) parts[i] = x[i] * x[i + 1];  //@parts_fill
  return parts[AT(k, 3)] + parts[5];  //@parts_read
}
}  // namespace mine

/* labels
[[find]]
cause = "dynamic-index"
object = "parts"
type = "float[28]"
size = 112
declared = "parts"
lines = ["parts_fill", "parts_read"]
primary = ["parts_read"]
index = ["[AT(k, 3)]", "[k]"]
sources = ["parameter k"]
uniformity = ["data-dependent", "unknown"]
optional = ["memory k"]
*/
extern "C" __global__ void not_of_the_library(const float *x, float *y, const int *k) {
  y[threadIdx.x] = mine::__internal_trig_reduction_like(x + threadIdx.x, k[threadIdx.x]);
}

/* labels
[[find]]
cause = "dynamic-index"
object = "words"
type = "unsigned int[17]"
size = 68
declared = "words"
lines = ["low", "high", "read"]
primary = ["read"]
index = ["[AT((e + i) & 15, 3)]", "[(e + i) & 15]", "[AT(((e + i) & 15) + 1, 4)]", "[((e + i) & 15) + 1]"]
sources = ["memory x", "loop-counter run-time"]
uniformity = "data-dependent"
*/
extern "C" __global__ void long_product(const unsigned *x, unsigned *y, int n) {
  unsigned words[17];  //@words
  unsigned long long carry = 0;
#pragma unroll
  for (int i = 0; i < 16; ++i) {
    carry += (unsigned long long)x[i] * 0x3c439041u;
    words[i] = (unsigned)carry;  //@low
    carry >>= 32;
  }
  words[16] = (unsigned)carry;  //@high
  int e = x[threadIdx.x] >> 27;
#pragma unroll 1
  for (int i = 0; i < n; ++i) {
    y[i * 32 + threadIdx.x] = words[AT((e + i) & 15, 3)] ^ words[AT(((e + i) & 15) + 1, 4)];  //@read
  }
}

/* labels
[[find]]
cause = "math-slow-path"
primary = ["call"]
lines = ["call"]
[[find]]
cause = "dynamic-index"
object = "phases"
type = "float[40]"
size = 160
declared = "phases"
lines = ["fill", "read"]
primary = ["read"]
index = ["[AT(i % 40, 3)]", "[i % 40]"]
sources = ["loop-counter run-time"]
uniformity = "uniform"
*/
extern "C" __global__ void phase_table(const float *x, float *y, int n) {
  float phases[40];  //@phases
  for (int i = 0; i < 40; ++i) phases[i] = x[i * 32 + threadIdx.x];  //@fill
  float total = 0;
#pragma unroll 1
  for (int i = 0; i < n; ++i) total += AT(sinf(phases[AT(i % 40, 3)] + total), total);  //@call @read
  y[threadIdx.x] = total;
}

/* labels
clean = true
*/
extern "C" __global__ void exact_turns(const float *x, float *y) {
  y[threadIdx.x] = sinpif(x[threadIdx.x]) + __cosf(x[threadIdx.x + 32]);
}
