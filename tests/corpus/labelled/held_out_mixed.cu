// Searches, choices, calls, traces: held out, labelled before any scan.

#ifdef EXPERIMENT
#define AT(run_time, constant) (constant)
#define OUTLINED __forceinline__
#else
#define AT(run_time, constant) (run_time)
#define OUTLINED __noinline__
#endif

/* labels
[[find]]
cause = "dynamic-index"
object = "skip"
type = "unsigned char[128]"
size = 128
declared = "skip"
lines = ["skip_all", "skip_set", "skip_on"]
primary = ["skip_set", "skip_on"]
index = ["[needle[k] & 127]", "[haystack[at + length - 1] & 127]"]
sources = ["memory needle", "memory haystack"]
uniformity = ["data-dependent", "uniform"]
*/
extern "C" __global__ void horspool(const char *__restrict__ needle, int length, const char *__restrict__ haystack, int *__restrict__ first, int n) {
  unsigned char skip[128];  //@skip
#pragma unroll
  for (int k = 0; k < 128; ++k) skip[k] = 16;  //@skip_all
#ifndef EXPERIMENT
#pragma unroll 1
  for (int k = 0; k < length - 1; ++k) skip[needle[k] & 127] = length - 1 - k;  //@skip_set
#endif
  const int id = blockIdx.x * blockDim.x + threadIdx.x;
  int at = id * n, found = -1;
#pragma unroll 1
  while (at + length <= (id + 1) * n) {
    int k = 0;
#pragma unroll 1
    while (k < length && needle[k] == haystack[at + k]) ++k;
    if (k == length) {
      found = at;
      break;
    }
#ifdef EXPERIMENT
    at += skip[9];
#else
    at += skip[haystack[at + length - 1] & 127];  //@skip_on
#endif
  }
  first[id] = found;
}

/* labels
[[find]]
cause = "dynamic-index"
object = "factor"
type = "double[10]"
size = 80
declared = "factor"
lines = ["factor_load", "factor_grow", "factor_out"]
primary = ["factor_grow"]
index = ["[block]"]
sources = ["block-id blockIdx.x", "parameter shift", "loop-counter run-time"]
uniformity = "uniform"
*/
extern "C" __global__ void factor_of_block(const double *__restrict__ in, double *__restrict__ out, int shift, int n) {
  double factor[10];  //@factor
  const int id = blockIdx.x * blockDim.x + threadIdx.x;
#pragma unroll
  for (int k = 0; k < 10; ++k) factor[k] = in[k * 4096 + id];  //@factor_load
#pragma unroll 1
  for (int i = 0; i < n; ++i) {
    const unsigned block = AT((blockIdx.x + shift * i) % 10u, 4);
    factor[block] = factor[block] * in[i] + 1.0;  //@factor_grow
  }
#pragma unroll
  for (int k = 0; k < 10; ++k) out[k * 4096 + id] = factor[k];  //@factor_out
}

/* labels
[[find]]
cause = "dynamic-index"
object = "load"
type = "double[32]"
size = 256
declared = "load"
lines = ["load_start", "load_first", "load_least", "load_add", "load_out"]
primary = ["load_add"]
index = ["[best]"]
sources = ["memory load"]
optional = ["memory start"]
uniformity = "data-dependent"
*/
extern "C" __global__ void balance(const double *__restrict__ start, const double *__restrict__ jobs, double *__restrict__ loads, int n) {
  double load[32];  //@load
  const int id = blockIdx.x * blockDim.x + threadIdx.x;
#pragma unroll
  for (int k = 0; k < 32; ++k) load[k] = start[k * 128 + id];  //@load_start
#pragma unroll 1
  for (int i = 0; i < n; ++i) {
    int best = 0;
    double least = load[0];  //@load_first
#pragma unroll
    for (int k = 1; k < 32; ++k)
      if (load[k] < least) {  //@load_least
        least = load[k];
        best = k;
      }
    best = AT(best, 6);
    load[best] += jobs[i];  //@load_add
  }
#pragma unroll
  for (int k = 0; k < 32; ++k) loads[k * 128 + id] = load[k];  //@load_out
}

__device__ OUTLINED float field(float x, float t) { return x * (1.0f - x) * t + x / (1.0f + t * t); }

__device__ OUTLINED float runge_kutta(float x, float t, float h, float damping) {
  const float k1 = field(x, t);
  const float k2 = field(x + 0.5f * h * k1, t + 0.5f * h);
  const float k3 = field(x + 0.5f * h * k2, t + 0.5f * h);
  const float k4 = field(x + h * k3, t + h);
  return x + damping * h * (k1 + 2.0f * k2 + 2.0f * k3 + k4) / 6.0f;
}

/* labels
clean = true
*/
extern "C" __global__ void integrate(const float *__restrict__ starts, float *__restrict__ ends, float h, int steps) {
  const int id = blockIdx.x * blockDim.x + threadIdx.x;
  float x = starts[id], y = starts[id + 4096];
#pragma unroll 1
  for (int i = 0; i < steps; ++i) {
    x = runge_kutta(x, i * h, h, y);
    y = 0.5f * y + 0.1f * x;
  }
  ends[id] = x * y;
}

/* labels
[[find]]
cause = "printf-args"
primary = ["trace_call"]
lines = ["trace_call"]
*/
extern "C" __global__ void trace_residual(const float *__restrict__ residuals, float limit, int *__restrict__ bad) {
  const int id = blockIdx.x * blockDim.x + threadIdx.x;
  if (residuals[id] > limit) {
    atomicAdd(bad, 1);
#ifndef EXPERIMENT
    printf("residual %d is %g\n", id, residuals[id]);  //@trace_call
#endif
  }
}
