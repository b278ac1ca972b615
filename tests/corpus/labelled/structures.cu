// Labels: tests/labels.py says what they mean. Structures, templates, lambdas, inlined functions.

#ifndef EXPERIMENT
#define AT(run_time, constant) (run_time)
#define ROLLED _Pragma("unroll 1")
#else
#define AT(run_time, constant) (constant)
#define ROLLED _Pragma("unroll")
#endif

// lmemscope: instantiate templated<float, 40>, templated<double, 24>, with_functor<12>

struct Settings {
  float gain;
  int order[20];
  float bias;
};

/* labels
[[find]]
cause = "param-copy"
object = "settings.order"
type = "int[20]"
size = 80
declared = "settings"
lines = ["first", "write", "second"]
primary = ["first", "write", "second"]
index = ["[AT(x[threadIdx.x], 3)]", "[x[threadIdx.x]]", "[AT(x[threadIdx.x] + 1, 4)]", "[x[threadIdx.x] + 1]", "[AT(x[threadIdx.x + 32], 5)]", "[x[threadIdx.x + 32]]"]
sources = ["memory x"]
uniformity = "data-dependent"
*/
extern "C" __global__ void settings_indexed(Settings settings, const int *x, float *y) {  //@settings
  y[threadIdx.x] = settings.gain * settings.order[AT(x[threadIdx.x], 3)] + settings.bias;  //@first
  settings.order[AT(x[threadIdx.x] + 1, 4)] = 3;  //@write
  y[threadIdx.x + 32] = settings.order[AT(x[threadIdx.x + 32], 5)];  //@second
}

/* labels
clean = true
*/
extern "C" __global__ void settings_in_place(const __grid_constant__ Settings settings,
                                             const int *x, float *y) {
  y[threadIdx.x] = settings.gain * settings.order[x[threadIdx.x]] + settings.bias;
}

struct Particle {
  float position[3];
  int history[30];
};

/* labels
[[find]]
cause = "dynamic-index"
object = "particle.history"
type = "int[30]"
size = 120
declared = "particle"
lines = ["count", "read"]
primary = ["count"]
index = ["[AT(x[i], 3)]", "[x[i]]"]
sources = ["memory x"]
uniformity = "uniform"
*/
extern "C" __global__ void member_array(const int *x, int *y, int n) {
  Particle particle = {};  //@particle
  for (int i = 0; i < n; ++i) particle.history[AT(x[i], 3)] += i;  //@count
  for (int i = 0; i < 30; ++i) y[i * 32 + threadIdx.x] = particle.history[i];  //@read
}

/* labels
[[find]]
cause = "dynamic-index"
object = "ring"
type = "float[40]"
size = 160
declared = "ring"
lines = ["write", "read"]
primary = ["write", "read"]
index = ["[AT(i % N, 3)]", "[i % N]", "[AT((i + 1) % N, 5)]", "[(i + 1) % N]"]
sources = ["loop-counter run-time"]
uniformity = "uniform"
instance = "templated<float, 40>"
[[find]]
cause = "dynamic-index"
object = "ring"
type = "double[24]"
size = 192
declared = "ring"
lines = ["write", "read"]
primary = ["write", "read"]
index = ["[AT(i % N, 3)]", "[i % N]", "[AT((i + 1) % N, 5)]", "[(i + 1) % N]"]
sources = ["loop-counter run-time"]
uniformity = "uniform"
instance = "templated<double, 24>"
*/
template <typename T, int N>
__global__ void templated(const T *x, T *y, int n) {
  T ring[N] = {};  //@ring
  for (int i = 0; i < n; ++i) {
    ring[AT(i % N, 3)] = x[i * 32 + threadIdx.x];  //@write
    y[i * 32 + threadIdx.x] = ring[AT((i + 1) % N, 5)];  //@read
  }
}

__device__ __forceinline__ float pick(const float *x, int k) {
  float local_copy[28];  //@local_copy
  for (int i = 0; i < 28; ++i) local_copy[i] = x[i] * x[i + 1];  //@fill
#pragma unroll 1
  for (int i = 0; i < k; ++i) local_copy[AT((k + 3 * i) % 28, 3)] -= local_copy[AT((k * i) % 28, 5)];  //@mix
  return local_copy[AT(k % 28, 7)] + local_copy[5] * local_copy[17];  //@take
}

__device__ __forceinline__ float pick_twice(const float *x, int k) {
  return pick(x, k) - pick(x + 5, k + 1);
}

/* labels
[[find]]
cause = "dynamic-index"
object = "local_copy"
type = "float[28]"
size = 112
declared = "local_copy"
lines = ["fill", "mix", "take"]
primary = ["mix", "take"]
index = ["[AT((k + 3 * i) % 28, 3)]", "[(k + 3 * i) % 28]", "[AT((k * i) % 28, 5)]", "[(k * i) % 28]", "[AT(k % 28, 7)]", "[k % 28]"]
sources = ["memory k", "loop-counter run-time"]
uniformity = "data-dependent"
*/
extern "C" __global__ void through_inlined(const float *x, float *y, const int *k) {
  y[threadIdx.x] = pick_twice(x, k[threadIdx.x]);
}

/* labels
[[find]]
cause = "dynamic-index"
object = "seen"
type = "int[26]"
size = 104
declared = "seen"
lines = ["count", "best"]
primary = ["count"]
index = ["[AT(x[i] % 26, 3)]", "[x[i] % 26]"]
sources = ["memory x"]
uniformity = "data-dependent"
*/
extern "C" __global__ void in_lambda(const int *x, int *y, int n) {
  auto count = [&](int from) {
    int seen[26] = {};  //@seen
    for (int i = from; i < n; ++i) seen[AT(x[i] % 26, 3)]++;  //@count
    int best = 0;
    for (int i = 0; i < 26; ++i) best = max(best, seen[i]);  //@best
    return best;
  };
  y[threadIdx.x] = count(threadIdx.x);
}

template <int N>
struct Accumulator {
  float sums[N];
  __device__ void add(int at, float value) { sums[at] += value; }  //@add
};

/* labels
[[find]]
cause = "dynamic-index"
object = "accumulator.sums"
type = "float[12]"
size = 48
declared = "accumulator"
lines = ["add", "read"]
primary = ["add", "call"]
index = ["[at]", "[AT(x[i] % N, 3)]", "[x[i] % N]"]
sources = ["memory x"]
uniformity = "uniform"
*/
template <int N>
__global__ void with_functor(const int *x, float *y, int n) {
  Accumulator<N> accumulator = {};  //@accumulator
  for (int i = 0; i < n; ++i) accumulator.add(AT(x[i] % N, 3), 0.5f * i);  //@call
  for (int i = 0; i < N; ++i) y[i] = accumulator.sums[i];  //@read
}

namespace deep {
namespace inner {
/* labels
[[find]]
cause = "dynamic-index"
object = "bins"
type = "int[18]"
size = 72
declared = "bins"
lines = ["count", "read"]
primary = ["count"]
index = ["[AT(x[i] % 18, 3)]", "[x[i] % 18]"]
sources = ["memory x"]
uniformity = "uniform"
*/
__global__ void in_namespace(const int *x, int *y, int n) {
  int bins[18] = {};  //@bins
  for (int i = 0; i < n; ++i) bins[AT(x[i] % 18, 3)] += 1;  //@count
  for (int i = 0; i < 18; ++i) y[i] = bins[i];  //@read
}
}  // namespace inner
}  // namespace deep

/* labels
[[find]]
cause = "dynamic-index"
object = "cells"
type = "Cell[16]"
size = 128
declared = "cells"
lines = ["key", "value", "read"]
primary = ["key", "value"]
index = ["[AT(x[i] & 15, 3)]", "[x[i] & 15]", "[AT(x[i + 1] & 15, 5)]", "[x[i + 1] & 15]"]
sources = ["memory x"]
uniformity = "uniform"
*/
extern "C" __global__ void array_of_structures(const int *x, int *y, int n) {
  struct Cell {
    int key, value;
  };
  Cell cells[16] = {};  //@cells
  for (int i = 0; i < n; ++i) {
    cells[AT(x[i] & 15, 3)].key = i;  //@key
    cells[AT(x[i + 1] & 15, 5)].value += x[i];  //@value
  }
  for (int i = 0; i < 16; ++i) y[i] = cells[i].key * cells[i].value;  //@read
}

/* labels
[[find]]
cause = "dynamic-index"
object = "buffer"
type = "int[22]"
size = 88
declared = "buffer"
lines = ["count", "read"]
primary = ["count"]
index = ["[AT(x[i] % 22, 3)]", "[x[i] % 22]"]
sources = ["memory x"]
uniformity = "uniform"
*/
extern "C" __global__ void shadowed(const int *x, int *y, int n) {
  int total = 0;
  {
    int buffer[22] = {};  //@buffer
    for (int i = 0; i < n; ++i) buffer[AT(x[i] % 22, 3)] += i;  //@count
    for (int i = 0; i < 22; ++i) total += buffer[i] * i;  //@read
  }
  y[threadIdx.x] = total;
}

/* labels
[[find]]
cause = "dynamic-index"
object = "table_1"
type = "int[25]"
size = 100
declared = "table_1"
lines = ["table_1_count", "table_1_read"]
primary = ["table_1_count"]
index = ["[AT(x[i] % 25, 3)]", "[x[i] % 25]"]
sources = ["memory x"]
uniformity = "uniform"
[[find]]
cause = "dynamic-index"
object = "table_10"
type = "int[25]"
size = 100
declared = "table_10"
lines = ["table_10_count", "table_10_read"]
primary = ["table_10_count"]
index = ["[AT(x[i] % 25, 5)]", "[x[i] % 25]"]
sources = ["memory x"]
uniformity = "uniform"
*/
extern "C" __global__ void similar_names(const int *x, int *y, int n) {
  int table_1[25] = {};  //@table_1
  int table_10[25] = {};  //@table_10
  for (int i = 0; i < n; ++i) table_1[AT(x[i] % 25, 3)] += i;  //@table_1_count
  for (int i = 0; i < n; ++i) table_10[AT(x[i] % 25, 5)] -= i;  //@table_10_count
  for (int i = 0; i < 25; ++i) y[i] = table_1[i];  //@table_1_read
  for (int i = 0; i < 25; ++i) y[i + 25] = table_10[i];  //@table_10_read
}

struct Axes {
  int shape[10];
  int stride[10];
  int count;
};

/* labels
[[find]]
cause = "param-copy"
object = "source.stride"
type = "int[10]"
size = 40
declared = "permuted"
lines = ["permuted", "permuted_source"]
primary = ["permuted_source"]
index = ["[AT(chosen[d], d)]", "[chosen[d]]"]
sources = ["memory order.shape"]
uniformity = "uniform"
[[find]]
cause = "param-copy"
object = "target.stride"
type = "int[10]"
size = 40
declared = "permuted"
lines = ["permuted", "permuted_target"]
primary = ["permuted_target"]
index = ["[d]"]
sources = ["loop-counter run-time"]
uniformity = "uniform"
[[find]]
cause = "param-copy"
object = "order.shape"
type = "int[10]"
size = 40
declared = "permuted"
lines = ["permuted", "permuted_source"]
primary = ["permuted_source"]
index = ["[d]"]
sources = ["loop-counter run-time"]
uniformity = "uniform"
*/
extern "C" __global__ void permuted(float *y, const float *x, Axes source, Axes target, Axes order) {  //@permuted
  const int *const from = &source.stride[0];
  const int *const to = &target.stride[0];
  const int *const chosen = &order.shape[0];
  int rest = threadIdx.x, place = 0;
  ROLLED
  for (int d = 0; d < AT(source.count, 10); ++d) {
    const int step = to[d];  //@permuted_target
    place += rest / step * from[AT(chosen[d], d)];  //@permuted_source
    rest %= step;
  }
  y[threadIdx.x] = x[place];
}
