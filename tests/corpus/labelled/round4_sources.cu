// Labels: tests/labels.py says what they mean. Indices that come through the mathematical library,
// through exchanges that give all lanes one value, and from limits that are read more than once.

#ifndef EXPERIMENT
#define AT(run_time, constant) (run_time)
#else
#define AT(run_time, constant) (constant)
#endif

#define SINE(x) AT(sin(x), x)
#define COSINE(x) AT(cosf(x), x)
#define EVERY 0xffffffffu

/* labels
[[find]]
cause = "dynamic-index"
object = "bucket"
type = "float[40]"
size = 160
declared = "bucket"
lines = ["fill", "change", "read"]
primary = ["change"]
index = ["[AT(((unsigned)__float2int_rz(sum) + r) % 40, 3)]", "[((unsigned)__float2int_rz(sum) + r) % 40]"]
sources = ["memory x", "loop-counter run-time"]
uniformity = "uniform"
*/
extern "C" __global__ void bucket_of_sum(const float *x, float *y, int n) {
  float bucket[40];  //@bucket
  for (int i = 0; i < 40; ++i) bucket[i] = x[i * 32 + threadIdx.x];  //@fill
  float sum = x[threadIdx.x];
  for (int lanes = 16; lanes > 0; lanes >>= 1) sum += __shfl_xor_sync(EVERY, sum, lanes);
#pragma unroll 1
  for (int r = 0; r < n; ++r) {
    bucket[AT(((unsigned)__float2int_rz(sum) + r) % 40, 3)] += x[r];  //@change
  }
  for (int i = 0; i < 40; ++i) y[i * 32 + threadIdx.x] = bucket[i];  //@read
}

/* labels
[[find]]
cause = "dynamic-index"
object = "bucket"
type = "float[40]"
size = 160
declared = "bucket"
lines = ["fill", "change", "read"]
primary = ["change"]
index = ["[AT(((unsigned)__float2int_rz(sum) + r) % 40, 3)]", "[((unsigned)__float2int_rz(sum) + r) % 40]"]
sources = ["memory x", "loop-counter run-time"]
uniformity = "data-dependent"
*/
extern "C" __global__ void bucket_of_half_a_warp(const float *x, float *y, int n) {
  float bucket[40];  //@bucket
  for (int i = 0; i < 40; ++i) bucket[i] = x[i * 32 + threadIdx.x];  //@fill
  float sum = x[threadIdx.x];
  for (int lanes = 8; lanes > 0; lanes >>= 1) sum += __shfl_xor_sync(EVERY, sum, lanes);
#pragma unroll 1
  for (int r = 0; r < n; ++r) {
    bucket[AT(((unsigned)__float2int_rz(sum) + r) % 40, 3)] += x[r];  //@change
  }
  for (int i = 0; i < 40; ++i) y[i * 32 + threadIdx.x] = bucket[i];  //@read
}

/* labels
[[find]]
cause = "dynamic-index"
object = "bucket"
type = "float[40]"
size = 160
declared = "bucket"
lines = ["fill", "change", "read"]
primary = ["change"]
index = ["[AT(((unsigned)v + r) % 40, 3)]", "[((unsigned)v + r) % 40]"]
sources = ["memory x", "loop-counter run-time"]
uniformity = "data-dependent"
*/
extern "C" __global__ void bucket_of_difference(const int *x, float *y, const float *z, int n) {
  float bucket[40];  //@bucket
  for (int i = 0; i < 40; ++i) bucket[i] = z[i * 32 + threadIdx.x];  //@fill
  int v = x[threadIdx.x];
  for (int lanes = 16; lanes > 0; lanes >>= 1) v = v - __shfl_xor_sync(EVERY, v, lanes);
#pragma unroll 1
  for (int r = 0; r < n; ++r) {
    bucket[AT(((unsigned)v + r) % 40, 3)] += x[r];  //@change
  }
  for (int i = 0; i < 40; ++i) y[i * 32 + threadIdx.x] = bucket[i];  //@read
}

/* labels
[[find]]
cause = "dynamic-index"
object = "bucket"
type = "float[40]"
size = 160
declared = "bucket"
lines = ["fill", "change", "read"]
primary = ["change"]
index = ["[AT(((unsigned)__double2int_rz(largest) + r) % 40, 3)]", "[((unsigned)__double2int_rz(largest) + r) % 40]"]
sources = ["memory x", "loop-counter run-time"]
uniformity = "uniform"
*/
extern "C" __global__ void bucket_of_largest(const double *x, float *y, const float *z, int n) {
  float bucket[40];  //@bucket
  for (int i = 0; i < 40; ++i) bucket[i] = z[i * 32 + threadIdx.x];  //@fill
  double largest = x[threadIdx.x];
  for (int lanes = 1; lanes < 32; lanes *= 2) largest = fmax(largest, __shfl_xor_sync(EVERY, largest, lanes));
#pragma unroll 1
  for (int r = 0; r < n; ++r) {
    bucket[AT(((unsigned)__double2int_rz(largest) + r) % 40, 3)] += x[r];  //@change
  }
  for (int i = 0; i < 40; ++i) y[i * 32 + threadIdx.x] = bucket[i];  //@read
}

/* labels
[[find]]
cause = "dynamic-index"
object = "bucket"
type = "float[40]"
size = 160
declared = "bucket"
lines = ["fill", "change", "read"]
primary = ["change"]
index = ["[AT((place + r) % 40, 3)]", "[(place + r) % 40]"]
sources = ["memory x", "thread-id threadIdx.x", "loop-counter run-time"]
uniformity = "uniform"
*/
extern "C" __global__ void place_of_largest(const int *x, float *y, const float *z, int n) {
  float bucket[40];  //@bucket
  for (int i = 0; i < 40; ++i) bucket[i] = z[i * 32 + threadIdx.x];  //@fill
  int key = x[threadIdx.x], place = threadIdx.x;
  for (int lanes = 16; lanes > 0; lanes >>= 1) {
    int other = __shfl_xor_sync(EVERY, key, lanes);
    int there = __shfl_xor_sync(EVERY, place, lanes);
    if (other > key || (other == key && there < place)) {
      key = other;
      place = there;
    }
  }
#pragma unroll 1
  for (int r = 0; r < n; ++r) {
    bucket[AT((place + r) % 40, 3)] += x[r];  //@change
  }
  for (int i = 0; i < 40; ++i) y[i * 32 + threadIdx.x] = bucket[i];  //@read
}

/* labels
[[find]]
cause = "dynamic-index"
object = "bucket"
type = "float[40]"
size = 160
declared = "bucket"
lines = ["fill", "change", "read"]
primary = ["change"]
index = ["[AT(((unsigned)__float2int_rz(sum) + r) % 40, 3)]", "[((unsigned)__float2int_rz(sum) + r) % 40]"]
sources = ["memory x", "loop-counter run-time"]
uniformity = "uniform"
*/
extern "C" __global__ void sum_to_the_first(const float *x, float *y, int n) {
  float bucket[40];  //@bucket
  for (int i = 0; i < 40; ++i) bucket[i] = x[i * 32 + threadIdx.x];  //@fill
  float sum = x[threadIdx.x];
  for (int lanes = 16; lanes > 0; lanes >>= 1) sum += __shfl_down_sync(EVERY, sum, lanes);
  sum = __shfl_sync(EVERY, sum, 0);
#pragma unroll 1
  for (int r = 0; r < n; ++r) {
    bucket[AT(((unsigned)__float2int_rz(sum) + r) % 40, 3)] += x[r];  //@change
  }
  for (int i = 0; i < 40; ++i) y[i * 32 + threadIdx.x] = bucket[i];  //@read
}

/* labels
[[find]]
cause = "math-slow-path"
primary = ["add"]
lines = ["add"]
[[find]]
cause = "dynamic-index"
object = "bins"
type = "float[40]"
size = 160
declared = "bins"
lines = ["add", "read"]
primary = ["add"]
index = ["[AT(__double2int_rz(SINE(angle[threadIdx.x * n + i]) * 15.0) & 31, 3)]", "[__double2int_rz(SINE(angle[threadIdx.x * n + i]) * 15.0) & 31]"]
sources = ["memory angle"]
uniformity = "data-dependent"
*/
extern "C" __global__ void bin_of_sine(const double *angle, const float *x, float *y, int n) {
  float bins[40] = {};  //@bins
  for (int i = 0; i < n; ++i) {
    bins[AT(__double2int_rz(SINE(angle[threadIdx.x * n + i]) * 15.0) & 31, 3)] += x[i];  //@add
  }
  for (int i = 0; i < 40; ++i) y[i * 32 + threadIdx.x] = bins[i];  //@read
}

/* labels
[[find]]
cause = "dynamic-index"
object = "bins"
type = "float[40]"
size = 160
declared = "bins"
lines = ["add", "read"]
primary = ["add"]
index = ["[AT(__double2int_rz(pow(base[i], exponent)) & 31, 3)]", "[__double2int_rz(pow(base[i], exponent)) & 31]"]
sources = ["memory base", "parameter exponent"]
uniformity = "uniform"
*/
extern "C" __global__ void bin_of_power(const double *base, double exponent, const float *x, float *y, int n) {
  float bins[40] = {};  //@bins
  for (int i = 0; i < n; ++i) {
    bins[AT(__double2int_rz(pow(base[i], exponent)) & 31, 3)] += x[i];  //@add
  }
  for (int i = 0; i < 40; ++i) y[i * 32 + threadIdx.x] = bins[i];  //@read
}

/* labels
[[find]]
cause = "math-slow-path"
primary = ["first", "second"]
lines = ["first", "second"]
[[find]]
cause = "dynamic-index"
object = "sectors"
type = "float[40]"
size = 160
declared = "sectors"
lines = ["fill", "change", "read"]
primary = ["change"]
index = ["[AT((at * 3 + r) % 40, 3)]", "[(at * 3 + r) % 40]"]
sources = ["memory angle", "loop-counter run-time"]
uniformity = "data-dependent"
*/
extern "C" __global__ void sector_of_angle(const float *angle, const float *x, float *y, int n) {
  float sectors[40];  //@sectors
  for (int i = 0; i < 40; ++i) sectors[i] = x[i * 32 + threadIdx.x];  //@fill
  int at = 0;
  if (COSINE(angle[threadIdx.x]) > 0.5f) ++at;  //@first
  if (COSINE(angle[threadIdx.x + 32]) > 0.5f) ++at;  //@second
#pragma unroll 1
  for (int r = 0; r < n; ++r) {
    sectors[AT((at * 3 + r) % 40, 3)] += x[r];  //@change
  }
  for (int i = 0; i < 40; ++i) y[i * 32 + threadIdx.x] = sectors[i];  //@read
}

/* labels
[[find]]
cause = "dynamic-index"
object = "annuity"
type = "float[80]"
size = 320
declared = "annuity"
lines = ["write", "read"]
primary = ["write", "read"]
index = ["[AT(i - first, 3)]", "[AT(maturity[i] - 1, 3)]", "[i - first]", "[maturity[i] - 1]"]
sources = ["memory maturity", "loop-counter run-time"]
optional = ["parameter first"]
uniformity = "uniform"
*/
extern "C" __global__ void annuities(const float *rate, const int *maturity, float *y, int first, int last, int n) {
  float annuity[80];  //@annuity
  float b = 1.0f;
  for (int i = first; i < last; ++i) {
    b = b / (1.0f + rate[i]);
    annuity[AT(i - first, 3)] = b;  //@write
  }
  float v = 0;
  for (int i = 0; i < n; ++i) v += annuity[AT(maturity[i] - 1, 3)];  //@read
  y[threadIdx.x] = v;
}

/* labels
[[find]]
cause = "dynamic-index"
object = "kept"
type = "float[40]"
size = 160
declared = "kept"
lines = ["add", "read"]
primary = ["add"]
index = ["[AT(i & 31, 3)]", "[i & 31]"]
sources = ["memory begin", "loop-counter run-time"]
uniformity = "uniform"
*/
extern "C" __global__ void rows(const int *begin, const float *x, float *y, int *counts) {
  float kept[40] = {};  //@kept
  int row = blockIdx.x;
  for (int i = begin[row]; i < begin[row + 1]; ++i) {
    kept[AT(i & 31, 3)] += x[i];  //@add
    counts[i] = 1;
  }
  for (int i = 0; i < 40; ++i) y[i * 32 + threadIdx.x] = kept[i];  //@read
}
