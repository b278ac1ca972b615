// Labels as in indexing.cu: structures, templates, lambdas, inlined functions.

// lmemscope: instantiate templated<float, 40>, templated<double, 24>, with_functor<12>

struct Settings {
  float gain;
  int order[20];
  float bias;
};

// expect: param-copy settings.order
extern "C" __global__ void settings_indexed(Settings settings, const int *x, float *y) {
  y[threadIdx.x] = settings.gain * settings.order[x[threadIdx.x]] + settings.bias;
  settings.order[x[threadIdx.x] + 1] = 3;
  y[threadIdx.x + 32] = settings.order[x[threadIdx.x + 32]];
}

// expect: clean
extern "C" __global__ void settings_in_place(const __grid_constant__ Settings settings,
                                             const int *x, float *y) {
  y[threadIdx.x] = settings.gain * settings.order[x[threadIdx.x]] + settings.bias;
}

struct Particle {
  float position[3];
  int history[30];
};

// expect: dynamic-index particle.history
extern "C" __global__ void member_array(const int *x, int *y, int n) {
  Particle particle = {};
  for (int i = 0; i < n; ++i) particle.history[x[i]] += i;
  for (int i = 0; i < 30; ++i) y[i * 32 + threadIdx.x] = particle.history[i];
}

template <typename T, int N>
// expect: dynamic-index ring
// expect-instances: 2
__global__ void templated(const T *x, T *y, int n) {
  T ring[N] = {};
  for (int i = 0; i < n; ++i) {
    ring[i % N] = x[i * 32 + threadIdx.x];
    y[i * 32 + threadIdx.x] = ring[(i + 1) % N];
  }
}

__device__ __forceinline__ float pick(const float *x, int k) {
  float local_copy[28];
  for (int i = 0; i < 28; ++i) local_copy[i] = x[i] * x[i + 1];
#pragma unroll 1
  for (int i = 0; i < k; ++i) local_copy[(k + 3 * i) % 28] -= local_copy[(k * i) % 28];
  return local_copy[k % 28] + local_copy[5] * local_copy[17];
}

__device__ __forceinline__ float pick_twice(const float *x, int k) {
  return pick(x, k) - pick(x + 5, k + 1);
}

// expect: dynamic-index local_copy
extern "C" __global__ void through_inlined(const float *x, float *y, const int *k) {
  y[threadIdx.x] = pick_twice(x, k[threadIdx.x]);
}

// expect: dynamic-index seen
extern "C" __global__ void in_lambda(const int *x, int *y, int n) {
  auto count = [&](int from) {
    int seen[26] = {};
    for (int i = from; i < n; ++i) seen[x[i] % 26]++;
    int best = 0;
    for (int i = 0; i < 26; ++i) best = max(best, seen[i]);
    return best;
  };
  y[threadIdx.x] = count(threadIdx.x);
}

template <int N>
struct Accumulator {
  float sums[N];
  __device__ void add(int at, float value) { sums[at] += value; }
};

template <int N>
// expect: dynamic-index accumulator.sums
__global__ void with_functor(const int *x, float *y, int n) {
  Accumulator<N> accumulator = {};
  for (int i = 0; i < n; ++i) accumulator.add(x[i] % N, 0.5f * i);
  for (int i = 0; i < N; ++i) y[i] = accumulator.sums[i];
}

namespace deep {
namespace inner {
// expect: dynamic-index bins
__global__ void in_namespace(const int *x, int *y, int n) {
  int bins[18] = {};
  for (int i = 0; i < n; ++i) bins[x[i] % 18] += 1;
  for (int i = 0; i < 18; ++i) y[i] = bins[i];
}
}  // namespace inner
}  // namespace deep

// expect: dynamic-index cells
extern "C" __global__ void array_of_structures(const int *x, int *y, int n) {
  struct Cell {
    int key, value;
  };
  Cell cells[16] = {};
  for (int i = 0; i < n; ++i) {
    cells[x[i] & 15].key = i;
    cells[x[i + 1] & 15].value += x[i];
  }
  for (int i = 0; i < 16; ++i) y[i] = cells[i].key * cells[i].value;
}

// expect: dynamic-index buffer
extern "C" __global__ void shadowed(const int *x, int *y, int n) {
  int total = 0;
  {
    int buffer[22] = {};
    for (int i = 0; i < n; ++i) buffer[x[i] % 22] += i;
    for (int i = 0; i < 22; ++i) total += buffer[i] * i;
  }
  y[threadIdx.x] = total;
}

// expect: dynamic-index table_1
// expect: dynamic-index table_10
extern "C" __global__ void similar_names(const int *x, int *y, int n) {
  int table_1[25] = {};
  int table_10[25] = {};
  for (int i = 0; i < n; ++i) table_1[x[i] % 25] += i;
  for (int i = 0; i < n; ++i) table_10[x[i] % 25] -= i;
  for (int i = 0; i < 25; ++i) y[i] = table_1[i];
  for (int i = 0; i < 25; ++i) y[i + 25] = table_10[i];
}
