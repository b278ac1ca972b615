// Labels: tests/labels.py says what they mean. Arrays and their indices.

#ifndef EXPERIMENT
#define AT(run_time, constant) (run_time)
#define ROLLED _Pragma("unroll 1")
#define UNROLLED
#else
#define AT(run_time, constant) (constant)
#define ROLLED _Pragma("unroll")
#define UNROLLED _Pragma("unroll")
#endif

/* labels
[[find]]
cause = "dynamic-index"
object = "window"
type = "float[44]"
size = 176
declared = "window"
lines = ["write", "read"]
primary = ["write", "read"]
index = ["[AT(i % 44, 3)]", "[i % 44]", "[AT((i + 9) % 44, 5)]", "[(i + 9) % 44]", "[AT((i + 23) % 44, 3)]", "[(i + 23) % 44]"]
sources = ["loop-counter run-time"]
uniformity = "uniform"
*/
extern "C" __global__ void moving_window(const float *x, float *y, int n) {
  float window[44] = {};  //@window
  for (int i = 0; i < n; ++i) {
    window[AT(i % 44, 3)] = x[i];  //@write
    y[i] = window[AT((i + 9) % 44, 5)] + window[AT((i + 23) % 44, 3)];  //@read
  }
}

/* labels
[[find]]
cause = "dynamic-index"
object = "digit_counts"
type = "unsigned int[16]"
size = 64
declared = "digit_counts"
lines = ["count", "out"]
primary = ["count"]
index = ["[AT((keys[i] >> shift) & 15, 3)]", "[(keys[i] >> shift) & 15]"]
sources = ["memory keys", "parameter shift"]
uniformity = "data-dependent"
*/
extern "C" __global__ void radix_digits(const unsigned *keys, unsigned *out, int n, int shift) {
  unsigned digit_counts[16] = {};  //@digit_counts
  for (int i = threadIdx.x; i < n; i += blockDim.x) digit_counts[AT((keys[i] >> shift) & 15, 3)]++;  //@count
  for (int d = 0; d < 16; ++d) out[d * blockDim.x + threadIdx.x] = digit_counts[d];  //@out
}

/* labels
[[find]]
cause = "dynamic-index"
object = "weights"
type = "double[40]"
size = 320
declared = "weights"
lines = ["fill", "read"]
primary = ["read"]
index = ["[AT((threadIdx.x * 7) % 40, 3)]", "[(threadIdx.x * 7) % 40]", "[AT(threadIdx.x % 39, 5)]", "[threadIdx.x % 39]"]
sources = ["thread-id threadIdx.x"]
uniformity = "lane-varying"
*/
extern "C" __global__ void by_lane(const double *x, double *y) {
  double weights[40];  //@weights
  for (int i = 0; i < 40; ++i) weights[i] = x[i] * x[i + 1];  //@fill
  y[threadIdx.x] = weights[AT((threadIdx.x * 7) % 40, 3)] + weights[AT(threadIdx.x % 39, 5)];  //@read
}

/* labels
[[find]]
cause = "dynamic-index"
object = "row"
type = "float[50]"
size = 200
declared = "row"
lines = ["fill", "mix", "read"]
primary = ["mix"]
index = ["[AT((which + r * 7) % 50, 3)]", "[(which + r * 7) % 50]", "[AT((which * r) % 50, 5)]", "[(which * r) % 50]"]
sources = ["parameter which", "loop-counter run-time"]
uniformity = "uniform"
*/
extern "C" __global__ void by_parameter(const float *x, float *y, int which) {
  float row[50];  //@row
  for (int i = 0; i < 50; ++i) row[i] = x[i * 3] + x[i];  //@fill
#pragma unroll 1
  for (int r = 0; r < which; ++r) row[AT((which + r * 7) % 50, 3)] += row[AT((which * r) % 50, 5)];  //@mix
  for (int i = 0; i < 50; ++i) y[i * 32 + threadIdx.x] = row[i];  //@read
}

/* labels
[[find]]
cause = "dynamic-index"
object = "bytes"
type = "unsigned char[256]"
size = 256
declared = "bytes"
lines = ["fill", "take", "give", "put", "read"]
primary = ["take", "give", "put"]
index = ["[AT(x[i], 3)]", "[x[i]]", "[AT(x[i + n], 5)]", "[x[i + n]]"]
sources = ["memory x"]
uniformity = "uniform"
*/
extern "C" __global__ void narrow(const unsigned char *x, unsigned char *y, int n) {
  unsigned char bytes[256];  //@bytes
  UNROLLED
  for (int i = 0; i < 256; ++i) bytes[i] = (unsigned char)i;  //@fill
  for (int i = 0; i < n; ++i) {
    unsigned char t = bytes[AT(x[i], 3)];  //@take
    bytes[AT(x[i], 3)] = bytes[AT(x[i + n], 5)];  //@give
    bytes[AT(x[i + n], 5)] = t;  //@put
  }
  UNROLLED
  for (int i = 0; i < 256; ++i) y[i * blockDim.x + threadIdx.x] = bytes[i];  //@read
}

/* labels
[[find]]
cause = "dynamic-index"
object = "halves"
type = "short[100]"
size = 200
declared = "halves"
lines = ["count", "read"]
primary = ["count"]
index = ["[AT(x[i], 3)]", "[x[i]]"]
sources = ["memory x"]
uniformity = "uniform"
*/
extern "C" __global__ void shorts(const short *x, short *y, int n) {
  short halves[100] = {};  //@halves
  for (int i = 0; i < n; ++i) halves[AT(x[i], 3)] += x[i + 1];  //@count
  for (int i = 0; i < 100; ++i) y[i] = halves[i];  //@read
}

/* labels
[[find]]
cause = "dynamic-index"
object = "quads"
type = "float4[20]"
size = 320
declared = "quads"
lines = ["fill", "read"]
primary = ["read"]
index = ["[AT(order[i], 3)]", "[order[i]]"]
sources = ["memory order"]
uniformity = "uniform"
*/
extern "C" __global__ void vectors(const float4 *x, float4 *y, const int *order) {
  float4 quads[20];  //@quads
  for (int i = 0; i < 20; ++i) quads[i] = x[i * 32 + threadIdx.x];  //@fill
  for (int i = 0; i < 20; ++i) y[i] = quads[AT(order[i], 3)];  //@read
}

/* labels
[[find]]
cause = "dynamic-index"
object = "stack"
type = "int[64]"
size = 256
declared = "stack"
lines = ["root", "pop", "push_left", "push_right"]
primary = ["pop", "push_left", "push_right"]
index = ["[AT(--top, (top--, 3))]", "[--top]", "[AT(top++, (top++, 3))]", "[top++]"]
sources = ["memory left", "memory right"]
uniformity = "uniform"
optional = ["loop-counter run-time"]
*/
extern "C" __global__ void explicit_stack(const int *left, const int *right, int *out, int root) {
  int stack[64];  //@stack
  int top = 0, sum = 0;
  stack[top++] = root;  //@root
  while (top > 0) {
    int node = stack[AT(--top, (top--, 3))];  //@pop
    sum += node;
    if (left[node] >= 0) stack[AT(top++, (top++, 3))] = left[node];  //@push_left
    if (right[node] >= 0) stack[AT(top++, (top++, 3))] = right[node];  //@push_right
  }
  out[threadIdx.x] = sum;
}

/* labels
[[find]]
cause = "dynamic-index"
object = "kept"
type = "float[32]"
size = 128
declared = "kept"
lines = ["keep", "read"]
primary = ["keep", "read"]
index = ["[AT(n++, 3)]", "[n++]", "[AT(i, 3)]", "[i]"]
sources = ["memory x", "loop-counter run-time"]
uniformity = "data-dependent"
optional = ["loop-counter constant"]
*/
extern "C" __global__ void compaction(const float *x, float *y, int *count) {
  float kept[32];  //@kept
  int n = 0;
#pragma unroll 1
  for (int i = 0; i < 32; ++i)
    if (x[i * 32 + threadIdx.x] > 0.0f) kept[AT(n++, 3)] = x[i * 32 + threadIdx.x];  //@keep
#pragma unroll 1
  for (int i = 0; i < n; ++i) y[i * 32 + threadIdx.x] = kept[AT(i, 3)];  //@read
  count[threadIdx.x] = n;
}

/* labels
[[find]]
cause = "dynamic-index"
object = "matrix"
type = "float[6][8]"
size = 192
declared = "matrix"
lines = ["fill", "mix", "read"]
primary = ["mix", "read"]
index = ["[AT((c + k) % 6, 3)][AT((r + k) % 8, 5)]", "[(c + k) % 6][(r + k) % 8]", "[AT(k % 6, 2)][AT(c % 8, 4)]", "[k % 6][c % 8]", "[AT(r % 6, 1)][AT(c % 8, 4)]", "[r % 6][c % 8]"]
sources = ["parameter r", "parameter c", "loop-counter run-time"]
uniformity = "uniform"
*/
extern "C" __global__ void two_dimensions(const float *x, float *y, int r, int c) {
  float matrix[6][8];  //@matrix
  for (int i = 0; i < 6; ++i)
    for (int j = 0; j < 8; ++j) matrix[i][j] = x[i * 64 + j * 8] * 2.0f;  //@fill
#pragma unroll 1
  for (int k = 0; k < r * c; ++k) matrix[AT((c + k) % 6, 3)][AT((r + k) % 8, 5)] += matrix[AT(k % 6, 2)][AT(c % 8, 4)];  //@mix
  for (int i = 0; i < 48; ++i) y[i] = matrix[i / 8][i % 8] + matrix[AT(r % 6, 1)][AT(c % 8, 4)];  //@read
}

/* labels
[[find]]
cause = "dynamic-index"
object = "first"
type = "int[32]"
size = 128
declared = "first"
lines = ["first_count", "first_read"]
primary = ["first_count"]
index = ["[AT(x[i] & 31, 3)]", "[x[i] & 31]"]
sources = ["memory x"]
uniformity = "uniform"
[[find]]
cause = "dynamic-index"
object = "second"
type = "int[32]"
size = 128
declared = "second"
lines = ["second_count", "second_read"]
primary = ["second_count"]
index = ["[AT(x[i + 2] & 31, 5)]", "[x[i + 2] & 31]"]
sources = ["memory x"]
uniformity = "uniform"
*/
extern "C" __global__ void same_size_twice(const int *x, int *y, int n) {
  int first[32] = {};  //@first
  int second[32] = {};  //@second
  for (int i = 0; i < n; ++i) {
    first[AT(x[i] & 31, 3)] += x[i + 1];  //@first_count
    second[AT(x[i + 2] & 31, 5)] -= x[i + 3];  //@second_count
  }
  for (int i = 0; i < 32; ++i) {
    y[i] = first[i];  //@first_read
    y[i + 32] = second[i];  //@second_read
  }
}

/* labels
[[find]]
cause = "dynamic-index"
object = "a"
type = "float[33]"
size = 132
declared = "floats"
lines = ["a_fill", "read"]
primary = ["read"]
index = ["[AT(k, 3)]", "[k]"]
sources = ["parameter k"]
uniformity = "uniform"
[[find]]
cause = "dynamic-index"
object = "b"
type = "float[47]"
size = 188
declared = "floats"
lines = ["b_fill", "read"]
primary = ["read"]
index = ["[AT(k + 1, 5)]", "[k + 1]"]
sources = ["parameter k"]
uniformity = "uniform"
[[find]]
cause = "dynamic-index"
object = "c"
type = "double[21]"
size = 168
declared = "c"
lines = ["c_fill", "read"]
primary = ["read"]
index = ["[AT(k + 2, 7)]", "[k + 2]"]
sources = ["parameter k"]
uniformity = "uniform"
*/
extern "C" __global__ void three_sizes(const float *x, float *y, int k) {
  float a[33], b[47];  //@floats
  double c[21];  //@c
  for (int i = 0; i < 33; ++i) a[i] = x[i] * 3.0f;  //@a_fill
  for (int i = 0; i < 47; ++i) b[i] = x[i] + 3.0f;  //@b_fill
  for (int i = 0; i < 21; ++i) c[i] = x[i] - 3.0;  //@c_fill
  y[threadIdx.x] = a[AT(k, 3)] + b[AT(k + 1, 5)] + (float)c[AT(k + 2, 7)];  //@read
}

/* labels
[[find]]
cause = "rolled-loop"
object = "samples"
type = "float[48]"
size = 192
declared = "samples"
lines = ["fill", "first", "best", "read"]
primary = ["fill", "best", "read"]
index = ["[i]"]
sources = ["loop-counter constant"]
uniformity = "uniform"
*/
extern "C" __global__ void rolled(const float *x, float *y) {
  float samples[48];  //@samples
ROLLED
  for (int i = 0; i < 48; ++i) samples[i] = x[i * 32 + threadIdx.x];  //@fill
  float best = samples[0];  //@first
ROLLED
  for (int i = 1; i < 48; ++i) best = fmaxf(best * 0.5f, samples[i]);  //@best
ROLLED
  for (int i = 0; i < 48; ++i) y[i * 32 + threadIdx.x] = samples[i] / best;  //@read
}

/* labels
[[find]]
cause = "rolled-loop"
object = "sorted"
type = "int[20]"
size = 80
declared = "sorted"
lines = ["fill", "compare", "take", "swap", "put", "read"]
primary = ["fill", "inner", "read"]
index = ["[i]", "[j]", "[j + 1]"]
sources = ["loop-counter constant"]
uniformity = "uniform"
*/
extern "C" __global__ void bubble(const int *x, int *y) {
  int sorted[20];  //@sorted
ROLLED
  for (int i = 0; i < 20; ++i) sorted[i] = x[i * 32 + threadIdx.x];  //@fill
ROLLED
  for (int i = 0; i < 19; ++i)
ROLLED
    for (int j = 0; j < 19; ++j)  //@inner
      if (sorted[j] > sorted[j + 1]) {  //@compare
        int t = sorted[j];  //@take
        sorted[j] = sorted[j + 1];  //@swap
        sorted[j + 1] = t;  //@put
      }
ROLLED
  for (int i = 0; i < 20; ++i) y[i * 32 + threadIdx.x] = sorted[i];  //@read
}

/* labels
[[find]]
cause = "large-array"
object = "history"
type = "float[2000]"
size = 8000
declared = "history"
lines = ["fill", "read"]
primary = ["fill", "read"]
index = ["[AT(i, 3)]", "[i]"]
sources = ["loop-counter constant"]
uniformity = "uniform"
*/
extern "C" __global__ void long_history(const float *x, float *y) {
  float history[2000];  //@history
#pragma unroll 1
  for (int i = 0; i < 2000; ++i) history[AT(i, 3)] = x[i * 32 + threadIdx.x];  //@fill
  float s = 0;
#pragma unroll 1
  for (int i = 1999; i >= 0; --i) {
    s = s * 0.5f + history[AT(i, 3)];  //@read
    y[i * 32 + threadIdx.x] = s;
  }
}

/* labels
[[find]]
cause = "const-table"
object = "coefficients"
type = "float[45]"
size = 180
declared = "coefficients"
lines = ["fill", "read"]
primary = ["read"]
index = ["[AT(x[i + threadIdx.x] % 45, 3)]", "[x[i + threadIdx.x] % 45]"]
sources = ["memory x"]
uniformity = "data-dependent"
*/
extern "C" __global__ void table(const int *x, float *y) {
  float coefficients[45];  //@coefficients
#pragma unroll
  for (int i = 0; i < 45; ++i) coefficients[i] = 0.37f * i * i - 1.5f;  //@fill
  float s = 0;
#pragma unroll 1
  for (int i = 0; i < x[0]; ++i) s += coefficients[AT(x[i + threadIdx.x] % 45, 3)];  //@read
  y[threadIdx.x] = s;
}

/* labels
clean = true
*/
extern "C" __global__ void unrolled(const float *x, float *y) {
  float v[16];
#pragma unroll
  for (int i = 0; i < 16; ++i) v[i] = x[i * 32 + threadIdx.x];
#pragma unroll
  for (int i = 0; i < 16; ++i) y[i * 32 + threadIdx.x] = v[15 - i];
}

/* labels
promoted = ["few"]
*/
extern "C" __global__ void small_selected(const float *x, float *y, int k) {
  float few[4];
  for (int i = 0; i < 4; ++i) few[i] = x[i * 7] * 2.0f;
  y[threadIdx.x] = few[k];
}
