// Labels as in indexing.cu: calls, addresses, run-time functions, spills.

__device__ __noinline__ void fill(float *out, const float *x, int n) {
  for (int i = 0; i < n; ++i) out[i] = x[i] * 0.5f;
}

// expect: address-taken scratch
extern "C" __global__ void passes_array(const float *x, float *y) {
  float scratch[12];
  fill(scratch, x, 12);
  float s = 0;
  for (int i = 0; i < 12; ++i) s += scratch[i];
  y[threadIdx.x] = s;
}

__device__ float *published;

// expect: address-taken secret
extern "C" __global__ void publishes(float *y) {
  float secret[6];
  for (int i = 0; i < 6; ++i) secret[i] = y[i];
  published = secret;
  __threadfence();
  float *back = published;
  y[threadIdx.x] = back[threadIdx.x % 6];
}

__device__ __noinline__ void split(float value, float *whole, float *rest) {
  *whole = floorf(value);
  *rest = value - *whole;
}

// expect: address-taken whole
// expect: address-taken rest
extern "C" __global__ void out_parameters(const float *x, float *y) {
  float whole, rest;
  split(x[threadIdx.x], &whole, &rest);
  y[threadIdx.x] = whole * 3.0f + rest;
}

__device__ __noinline__ double polynomial(const double *c, double x, int n) {
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

// expect: clean
extern "C" __global__ void calls_leaf(const double *c, double *y, int n) {
  y[threadIdx.x] = polynomial(c, y[threadIdx.x], n);
}

typedef double (*Model)(const double *, double, int);

__device__ __noinline__ double cubic(const double *c, double x, int n) {
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

__device__ __noinline__ double linear(const double *c, double x, int n) { return c[0] * x + n; }

__device__ Model models[2] = {cubic, linear};

// expect: call-frame
extern "C" __global__ void chosen_model(const double *c, double *y, int n, int which) {
  y[threadIdx.x] = models[which](c, y[threadIdx.x], n);
}

// expect: callee-save
extern "C" __global__ void named_model(const double *c, double *y, int n, int which) {
  y[threadIdx.x] = which ? linear(c, y[threadIdx.x], n) : cubic(c, y[threadIdx.x], n);
}

// expect: call-frame
__device__ int ackermann(int m, int n) {
  if (m == 0) return n + 1;
  if (n == 0) return ackermann(m - 1, 1);
  return ackermann(m - 1, ackermann(m, n - 1));
}
extern "C" __global__ void recursive(int *y, int m) { y[threadIdx.x] = ackermann(m, threadIdx.x); }

// expect: printf-args
extern "C" __global__ void prints(const float *x, int n) {
  if (threadIdx.x < n) printf("%d: %f %f\n", threadIdx.x, x[0], x[threadIdx.x]);
}

// expect: printf-args
// expect: dynamic-index tally
extern "C" __global__ void prints_and_counts(const int *x, int n) {
  int tally[30] = {};
  for (int i = 0; i < n; ++i) tally[x[i] % 30]++;
  int best = 0;
  for (int i = 0; i < 30; ++i) best = max(best, tally[i]);
  if (best > n / 2) printf("majority %d\n", best);
}

// expect: math-slow-path
extern "C" __global__ void sine(double *x) { x[threadIdx.x] = cos(x[threadIdx.x]); }

// expect: math-slow-path
// expect: dynamic-index phases
extern "C" __global__ void sine_and_array(double *x, const int *k, int n) {
  double phases[20];
  for (int i = 0; i < 20; ++i) phases[i] = sin(x[i]);
  for (int i = 0; i < n; ++i) x[threadIdx.x] += phases[k[i]];
}

// expect: register-spill
extern "C" __global__ void __launch_bounds__(1024, 2) capped(float *x, int n) {
  float v[64];
#pragma unroll
  for (int i = 0; i < 64; ++i) v[i] = x[i * 1024 + threadIdx.x];
  for (int k = 0; k < n; ++k)
#pragma unroll
    for (int i = 0; i < 64; ++i) v[i] = v[i] * v[(i + 11) % 64] + v[(i + 29) % 64];
#pragma unroll
  for (int i = 0; i < 64; ++i) x[i * 1024 + threadIdx.x] = v[i];
}

// expect: register-spill
// expect: dynamic-index choices
extern "C" __global__ void __launch_bounds__(1024, 2) spills_and_array(float *x, const int *k,
                                                                       int n) {
  float v[80];
  float choices[32];
#pragma unroll
  for (int i = 0; i < 80; ++i) v[i] = x[i * 1024 + threadIdx.x];
  for (int i = 0; i < 32; ++i) choices[i] = x[i];
  for (int r = 0; r < n; ++r) {
    choices[k[r]] += v[5];
#pragma unroll
    for (int i = 0; i < 80; ++i) v[i] = v[i] * v[(i + 7) % 80] + choices[k[r + i]];
  }
#pragma unroll
  for (int i = 0; i < 80; ++i) x[i * 1024 + threadIdx.x] = v[i];
}

// expect: volatile flags
extern "C" __global__ void insists(const int *x, int *y) {
  volatile int flags[6];
  for (int i = 0; i < 6; ++i) flags[i] = x[i];
  y[threadIdx.x] = flags[2] + flags[4];
}

// expect: volatile watched
extern "C" __global__ void one_volatile(const float *x, float *y, int n) {
  volatile float watched = 0.0f;
  for (int i = 0; i < n; ++i) watched = watched + x[i];
  y[threadIdx.x] = watched;
}

typedef float (*Operation)(float, float);
__device__ __noinline__ float add(float a, float b) { return a + b; }
__device__ __noinline__ float multiply(float a, float b) { return a * b; }
__device__ Operation operations[2] = {add, multiply};

// expect: call-frame
extern "C" __global__ void indirect(const float *x, float *y, int which) {
  y[threadIdx.x] = operations[which](x[threadIdx.x], x[threadIdx.x + 32]);
}
