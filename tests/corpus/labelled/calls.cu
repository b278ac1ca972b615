// Labels: tests/labels.py says what they mean. Calls, addresses, run-time functions, spills.

#ifndef EXPERIMENT
#define AT(run_time, constant) (run_time)
#define NOINLINE __noinline__
#define VOLATILE volatile
#define FILL fill
#else
#define AT(run_time, constant) (constant)
#define NOINLINE __forceinline__
#define VOLATILE
#define FILL(out, x, n) \
  for (int i = 0; i < n; ++i) out[i] = x[i] * 0.5f
#endif

__device__ NOINLINE void fill(float *out, const float *x, int n) {
  for (int i = 0; i < n; ++i) out[i] = x[i] * 0.5f;  //@callee_write
}

/* labels
[[find]]
cause = "address-taken"
object = "scratch"
type = "float[12]"
size = 48
declared = "scratch"
lines = ["callee_write", "read"]
primary = ["call", "callee_write", "read"]
*/
extern "C" __global__ void passes_array(const float *x, float *y) {
  float scratch[12];  //@scratch
  FILL(scratch, x, 12);  //@call
  float s = 0;
  for (int i = 0; i < 12; ++i) s += scratch[i];  //@read
  y[threadIdx.x] = s;
}

__device__ float *published;

/* labels
[[find]]
cause = "address-taken"
object = "secret"
type = "float[6]"
size = 24
declared = "secret"
lines = ["fill"]
primary = ["fill", "publish"]
*/
extern "C" __global__ void publishes(float *y) {
  float secret[6];  //@secret
  for (int i = 0; i < 6; ++i) secret[i] = y[i];  //@fill
  published = AT(secret, y);  //@publish
  __threadfence();
  float *back = published;
  y[threadIdx.x] = back[threadIdx.x % 6];
}

__device__ NOINLINE void split(float value, float *whole, float *rest) {
  *whole = floorf(value);  //@set_whole
  *rest = value - *whole;  //@set_rest
}

/* labels
[[find]]
cause = "address-taken"
object = "whole"
type = "float"
size = 4
declared = "pair"
primary = ["call", "read", "set_whole", "set_rest"]
[[find]]
cause = "address-taken"
object = "rest"
type = "float"
size = 4
declared = "pair"
primary = ["call", "read", "set_whole", "set_rest"]
*/
extern "C" __global__ void out_parameters(const float *x, float *y) {
  float whole, rest;  //@pair
  split(x[threadIdx.x], &whole, &rest);  //@call
  y[threadIdx.x] = whole * 3.0f + rest;  //@read
}

__device__ NOINLINE double polynomial(const double *c, double x, int n) {
  double a = c[0], b = c[1], d = c[2], e = c[3];
  for (int i = 0; i < n; ++i) {
    double t = a;
    a = b * x + sqrt(d);
    b = d * x + e / t;
    d = e * x + t;
    e = t - x * a;
  }
  return a + b + d + e;
}

/* labels
clean = true
*/
extern "C" __global__ void calls_leaf(const double *c, double *y, int n) {
  y[threadIdx.x] = polynomial(c, y[threadIdx.x], n);
}

typedef double (*Model)(const double *, double, int);

__device__ NOINLINE double cubic(const double *c, double x, int n) {  //@cubic
  double v[12];
#pragma unroll
  for (int i = 0; i < 12; ++i) v[i] = c[i] * x;
  for (int k = 0; k < n; ++k)
#pragma unroll
    for (int i = 0; i < 12; ++i) v[i] = v[i] * v[(i + 5) % 12] + v[(i + 7) % 12];
  double s = 0;
#pragma unroll
  for (int i = 0; i < 12; ++i) s += v[i];
  return s;
}

__device__ NOINLINE double linear(const double *c, double x, int n) { return c[0] * x + n; }  //@linear

__device__ Model models[2] = {cubic, linear};

/* labels
[[find]]
cause = "call-frame"
*/
extern "C" __global__ void chosen_model(const double *c, double *y, int n, int which) {
  y[threadIdx.x] = AT(models[which], cubic)(c, y[threadIdx.x], n);
}

/* labels
[[find]]
cause = "callee-save"
*/
extern "C" __global__ void named_model(const double *c, double *y, int n, int which) {
  y[threadIdx.x] = which ? linear(c, y[threadIdx.x], n) : cubic(c, y[threadIdx.x], n);
}

/* labels
[[find]]
cause = "call-frame"
*/
__device__ int ackermann(int m, int n) {
  if (m == 0) return n + 1;
  if (n == 0) return ackermann(m - 1, 1);
  return ackermann(m - 1, ackermann(m, n - 1));
}
extern "C" __global__ void recursive(int *y, int m) { y[threadIdx.x] = AT(ackermann(m, threadIdx.x), m); }

/* labels
[[find]]
cause = "printf-args"
primary = ["print"]
*/
extern "C" __global__ void prints(const float *x, int n) {
  if (threadIdx.x < n) AT(printf("%d: %f %f\n", threadIdx.x, x[0], x[threadIdx.x]), 0);  //@print
}

/* labels
[[find]]
cause = "printf-args"
primary = ["print"]
[[find]]
cause = "dynamic-index"
object = "tally"
type = "int[30]"
size = 120
declared = "tally"
lines = ["count", "best"]
primary = ["count"]
index = ["[AT(x[i] % 30, 3)]", "[x[i] % 30]"]
sources = ["memory x"]
uniformity = "uniform"
*/
extern "C" __global__ void prints_and_counts(const int *x, int n) {
  int tally[30] = {};  //@tally
  for (int i = 0; i < n; ++i) tally[AT(x[i] % 30, 3)]++;  //@count
  int best = 0;
  for (int i = 0; i < 30; ++i) best = max(best, tally[i]);  //@best
  if (best > n / 2) AT(printf("majority %d\n", best), 0);  //@print
}

/* labels
[[find]]
cause = "math-slow-path"
primary = ["call"]
*/
extern "C" __global__ void sine(double *x) { x[threadIdx.x] = AT(cos(x[threadIdx.x]), 0.5); }  //@call

/* labels
[[find]]
cause = "math-slow-path"
primary = ["fill"]
[[find]]
cause = "dynamic-index"
object = "phases"
type = "double[20]"
size = 160
declared = "phases"
lines = ["fill", "read"]
primary = ["read"]
index = ["[AT(k[i], 3)]", "[k[i]]"]
sources = ["memory k"]
uniformity = "uniform"
*/
extern "C" __global__ void sine_and_array(double *x, const int *k, int n) {
  double phases[20];  //@phases
  for (int i = 0; i < 20; ++i) phases[i] = AT(sin(x[i]), x[i]);  //@fill
  for (int i = 0; i < n; ++i) x[threadIdx.x] += phases[AT(k[i], 3)];  //@read
}

/* labels
[[find]]
cause = "register-spill"
*/
extern "C" __global__ void __launch_bounds__(AT(1024, 128), AT(2, 1)) capped(float *x, int n) {
  float v[64];
#pragma unroll
  for (int i = 0; i < 64; ++i) v[i] = x[i * 1024 + threadIdx.x];
  for (int k = 0; k < n; ++k)
#pragma unroll
    for (int i = 0; i < 64; ++i) v[i] = v[i] * v[(i + 11) % 64] + v[(i + 29) % 64];
#pragma unroll
  for (int i = 0; i < 64; ++i) x[i * 1024 + threadIdx.x] = v[i];
}

/* labels
[[find]]
cause = "register-spill"
[[find]]
cause = "dynamic-index"
object = "choices"
type = "float[32]"
size = 128
declared = "choices"
lines = ["fill", "change", "use"]
primary = ["change", "use"]
index = ["[AT(k[r], 3)]", "[k[r]]", "[AT(k[r + i], 5)]", "[k[r + i]]"]
sources = ["memory k"]
uniformity = "uniform"
*/
extern "C" __global__ void __launch_bounds__(AT(1024, 128), AT(2, 1)) spills_and_array(float *x, const int *k,
                                                                       int n) {
  float v[80];
  float choices[32];  //@choices
#pragma unroll
  for (int i = 0; i < 80; ++i) v[i] = x[i * 1024 + threadIdx.x];
  for (int i = 0; i < 32; ++i) choices[i] = x[i];  //@fill
  for (int r = 0; r < n; ++r) {
    choices[AT(k[r], 3)] += v[5];  //@change
#pragma unroll
    for (int i = 0; i < 80; ++i) v[i] = v[i] * v[(i + 7) % 80] + choices[AT(k[r + i], 5)];  //@use
  }
#pragma unroll
  for (int i = 0; i < 80; ++i) x[i * 1024 + threadIdx.x] = v[i];
}

/* labels
[[find]]
cause = "volatile"
object = "flags"
type = ["volatile int[6]", "int[6]"]
size = 24
declared = "flags"
lines = ["set", "read"]
primary = ["set", "read"]
*/
extern "C" __global__ void insists(const int *x, int *y) {
  VOLATILE int flags[6];  //@flags
  for (int i = 0; i < 6; ++i) flags[i] = x[i];  //@set
  y[threadIdx.x] = flags[2] + flags[4];  //@read
}

/* labels
[[find]]
cause = "volatile"
object = "watched"
type = ["volatile float", "float"]
size = 4
declared = "watched"
lines = ["update"]
primary = ["update"]
archs = ["sm_75", "sm_80", "sm_90"]
[[find]]
cause = "volatile"
object = "watched"
type = ["volatile float", "float"]
size = 4
declared = "watched"
lines = ["update", "read"]
primary = ["update", "read"]
archs = ["sm_100", "sm_120"]
*/
extern "C" __global__ void one_volatile(const float *x, float *y, int n) {
  VOLATILE float watched = 0.0f;  //@watched
  for (int i = 0; i < n; ++i) watched = watched + x[i];  //@update
  y[threadIdx.x] = watched;  //@read
}

typedef float (*Operation)(float, float);
__device__ NOINLINE float add(float a, float b) { return a + b; }
__device__ NOINLINE float multiply(float a, float b) { return a * b; }
__device__ Operation operations[2] = {add, multiply};

/* labels
[[find]]
cause = "call-frame"

[[find]]
cause = "callee-save"
primary = ["cubic", "linear"]
*/
// Without the models, whose table is in this file and fits no call here, nothing of it is in local
// memory: only the depth of the stack is not known.
extern "C" __global__ void indirect(const float *x, float *y, int which) {
  y[threadIdx.x] = AT(operations[which], add)(x[threadIdx.x], x[threadIdx.x + 32]);
}
