// Random generators, paths, sampling. Labels were proven with -DEXPERIMENT.

#ifdef EXPERIMENT
#define AT(run_time, constant) (constant)
#define ROLLED _Pragma("unroll")
#else
#define AT(run_time, constant) (run_time)
#define ROLLED _Pragma("unroll 1")
#endif

struct Well512 {
  unsigned state[16];
  __device__ unsigned next(unsigned &index) {
    const unsigned i0 = AT(index, 3), i13 = AT((index + 13) & 15, 5);
    const unsigned i9 = AT((index + 9) & 15, 7), i15 = AT((index + 15) & 15, 9);
    unsigned a = state[i0], c = state[i13];  //@well_first
    const unsigned b = a ^ c ^ (a << 16) ^ (c << 15);
    c = state[i9];  //@well_ninth
    c ^= c >> 11;
    a = state[i0] = b ^ c;  //@well_put
    const unsigned d = a ^ ((a << 5) & 0xda442d24u);
    index = (index + 15) & 15;
    a = state[i15];                                                           //@well_last
    return state[i15] = a ^ b ^ d ^ (a << 2) ^ (b << 18) ^ (c << 28);  //@well_result
  }
};

/* labels
[[find]]
cause = "dynamic-index"
object = "random.state"
type = "unsigned int[16]"
size = 64
declared = "random"
lines = ["random", "well_first", "well_ninth", "well_put", "well_last", "well_result", "random_save"]
primary = ["well_first", "well_ninth", "well_put", "well_last", "well_result"]
index = ["[i0]", "[i13]", "[i9]", "[i15]"]
sources = ["memory positions"]
optional = ["loop-counter run-time"]
uniformity = "data-dependent"
*/
extern "C" __global__ void well_512(Well512 *states, unsigned *positions, unsigned *out, int n) {
  Well512 random = states[blockIdx.x * blockDim.x + threadIdx.x];  //@random
  unsigned position = positions[blockIdx.x * blockDim.x + threadIdx.x] & 15;
#pragma unroll 1
  for (int i = 0; i < n; ++i) out[i * 4096 + threadIdx.x] = random.next(position);
  positions[blockIdx.x * blockDim.x + threadIdx.x] = position;
  states[blockIdx.x * blockDim.x + threadIdx.x] = random;  //@random_save
}

struct Xorwow {
  unsigned x[5];
  unsigned counter;
  __device__ float uniform() {
    const unsigned t = x[0] ^ (x[0] >> 2);
#pragma unroll
    for (int i = 0; i < 4; ++i) x[i] = x[i + 1];
    x[4] = (x[4] ^ (x[4] << 4)) ^ (t ^ (t << 1));
    counter += 362437u;
    return (x[4] + counter) * 2.3283064e-10f;
  }
};

/* labels
clean = true
*/
extern "C" __global__ void barrier_option(Xorwow *states, float *payoff, float drift, float volatility, int steps) {
  Xorwow random = states[blockIdx.x * blockDim.x + threadIdx.x];
  float price = 1.0f;
  for (int s = 0; s < steps && price > 0.8f; ++s)
    price *= 1.0f + drift + volatility * (random.uniform() + random.uniform() + random.uniform() - 1.5f);
  payoff[blockIdx.x * blockDim.x + threadIdx.x] = fmaxf(price - 1.0f, 0.0f);
  states[blockIdx.x * blockDim.x + threadIdx.x] = random;
}

/* labels
[[find]]
cause = "dynamic-index"
also = ["large-array"]
object = "lag"
type = "float[607]"
size = 2428
declared = "lag"
lines = ["lag_seed", "lag_near", "lag_far"]
primary = ["lag_near", "lag_far"]
index = ["[near]", "[far]"]
sources = ["loop-counter run-time"]
uniformity = "uniform"
*/
extern "C" __global__ void lagged_fibonacci(const float *seeds, float *out, int n) {
#ifdef EXPERIMENT
  const int size = 12;
#else
  const int size = 607;
#endif
  float lag[size];  //@lag
  ROLLED
  for (int i = 0; i < size; ++i) lag[i] = seeds[i * 256 + threadIdx.x];  //@lag_seed
  int slow = 0, fast = size / 2;
#pragma unroll 1
  for (int i = 0; i < n; ++i) {
    const int far = AT(slow, 2), near = AT(fast, 9);
    float value = lag[near] + 0.5f;  //@lag_near
    value -= floorf(value);
    lag[far] = value;  //@lag_far
    out[i * 256 + threadIdx.x] = value;
    slow = slow + 1 == size ? 0 : slow + 1;
    fast = fast + 1 == size ? 0 : fast + 1;
  }
}

/* labels
[[find]]
cause = "rolled-loop"
object = "path"
type = "float[252]"
size = 1008
declared = "path"
lines = ["path_put", "path_back"]
primary = ["path_forward", "path_backward"]
index = ["[day]"]
sources = ["loop-counter constant"]
uniformity = "uniform"
*/
extern "C" __global__ void lookback_year(const float *normals, float *payoff, float volatility) {
#ifdef EXPERIMENT
  const int days = 30;
#else
  const int days = 252;
#endif
  float path[days];  //@path
  float price = 1.0f;
  ROLLED
  for (int day = 0; day < days; ++day) {  //@path_forward
    price *= __expf(volatility * normals[day * 65536 + threadIdx.x]);
    path[day] = price;  //@path_put
  }
  float peak = 0.0f, worst = 0.0f;
  ROLLED
  for (int day = days - 1; day >= 0; --day) {  //@path_backward
    peak = fmaxf(peak * 0.999f, path[day]);  //@path_back
    worst = fmaxf(worst, peak - price);
  }
  payoff[threadIdx.x] = worst;
}

/* labels
[[find]]
cause = "large-array"
object = "path"
type = "float[256]"
size = 1024
declared = "long_path"
lines = ["long_put", "long_back"]
primary = ["long_put", "long_back", "long_forward", "long_backward"]
index = ["[step]"]
sources = ["loop-counter constant"]
uniformity = "uniform"
*/
extern "C" __global__ void lookback_256(const float *normals, float *payoff, float volatility) {
#ifdef EXPERIMENT
  const int steps = 24;
#else
  const int steps = 256;
#endif
  float path[steps];  //@long_path
  float price = 1.0f;
  ROLLED
  for (int step = 0; step < steps; ++step) {  //@long_forward
    price += volatility * normals[step * 65536 + threadIdx.x];
    path[step] = price;  //@long_put
  }
  float below = price;
  ROLLED
  for (int step = steps - 1; step >= 0; --step) {  //@long_backward
    below = fminf(below + 0.001f, path[step]);     //@long_back
    payoff[step * 65536 + threadIdx.x] = below;
  }
}

/* labels
[[find]]
cause = "dynamic-index"
object = "value"
type = "double[101]"
size = 808
declared = "value"
lines = ["value_payoff", "value_up", "value_down", "value_root"]
primary = ["value_payoff", "value_up", "value_down"]
index = ["[leaf]", "[j + 1]", "[j]"]
sources = ["loop-counter run-time"]
uniformity = "uniform"
*/
extern "C" __global__ void binomial_tree(const double *spot, double *price, double up, double discount, int periods) {
#ifdef EXPERIMENT
  const int steps = 5;
#else
  const int steps = periods;
#endif
  double value[101];  //@value
  double s = spot[threadIdx.x];
  ROLLED
  for (int leaf = 0; leaf <= steps; ++leaf) {
    value[leaf] = fmax(s - 1.0, 0.0);  //@value_payoff
    s *= up;
  }
  ROLLED
  for (int level = steps; level > 0; --level) {
#ifdef EXPERIMENT
    ROLLED
    for (int j = 0; j < 5; ++j) if (j < level) {
#else
#pragma unroll 1
    for (int j = 0; j < level; ++j) {
#endif
      const double higher = value[j + 1];                    //@value_up
      value[j] = discount * (0.52 * higher + 0.48 * value[j]);  //@value_down
    }
  }
  price[threadIdx.x] = value[0];  //@value_root
}

__device__ __forceinline__ unsigned xorshift(unsigned &s) {
  s ^= s << 13;
  s ^= s >> 17;
  s ^= s << 5;
  return s;
}

/* labels
[[find]]
cause = "dynamic-index"
object = "spin"
type = "signed char[8][8]"
size = 64
declared = "spin"
lines = ["spin_start", "spin_here", "spin_east", "spin_west", "spin_south", "spin_north", "spin_flip", "spin_sum"]
primary = ["spin_here", "spin_east", "spin_west", "spin_south", "spin_north", "spin_flip"]
index = ["[y][x]", "[y][e]", "[y][w]", "[s][x]", "[n][x]"]
sources = ["parameter seed", "thread-id threadIdx.x"]
optional = ["loop-counter run-time"]
uniformity = "lane-varying"
*/
extern "C" __global__ void ising_8x8(int *magnetisation, unsigned seed, int sweeps) {
  signed char spin[8][8];  //@spin
#pragma unroll
  for (int i = 0; i < 64; ++i) spin[i / 8][i % 8] = i & 4 ? 1 : -1;  //@spin_start
  unsigned random = seed + threadIdx.x * 2654435761u;
#pragma unroll 1
  for (int i = 0; i < sweeps; ++i) {
    const unsigned r = xorshift(random);
    const int x = AT(r & 7, 3), y = AT((r >> 3) & 7, 4);
    const int e = AT((x + 1) & 7, 4), w = AT((x + 7) & 7, 2), s = AT((y + 1) & 7, 5), n = AT((y + 7) & 7, 3);
    const int here = spin[y][x];  //@spin_here
    int field = spin[y][e];       //@spin_east
    field += spin[y][w];          //@spin_west
    field += spin[s][x];          //@spin_south
    field += spin[n][x];          //@spin_north
    if (here * field <= 0 || (r >> 16) < 1200u) spin[y][x] = -here;  //@spin_flip
  }
  int sum = 0;
#pragma unroll
  for (int i = 0; i < 64; ++i) sum += spin[i / 8][i % 8];  //@spin_sum
  magnetisation[threadIdx.x] = sum;
}

/* labels
[[find]]
cause = "dynamic-index"
object = "keep"
type = "float[40]"
size = 160
declared = "keep"
lines = ["keep_load", "keep_test"]
primary = ["keep_test"]
index = ["[column]"]
sources = ["memory seeds"]
optional = ["loop-counter run-time"]
uniformity = "data-dependent"
[[find]]
cause = "dynamic-index"
object = "alias"
type = "short[40]"
size = 80
declared = "alias"
lines = ["alias_load", "alias_take"]
primary = ["alias_take"]
index = ["[column]"]
sources = ["memory seeds"]
optional = ["loop-counter run-time"]
uniformity = "data-dependent"
[[find]]
cause = "dynamic-index"
object = "tally"
type = "int[40]"
size = 160
declared = "tally"
lines = ["tally_clear", "tally_add", "tally_store"]
primary = ["tally_add"]
index = ["[drawn]"]
sources = ["memory seeds", "memory keep", "memory alias"]
optional = ["loop-counter run-time"]
uniformity = "data-dependent"
*/
extern "C" __global__ void alias_tally(const float *keeps, const short *aliases, const unsigned *seeds, int *out, int n) {
  float keep[40];   //@keep
  short alias[40];  //@alias
  int tally[40];    //@tally
#pragma unroll
  for (int k = 0; k < 40; ++k) {
    keep[k] = keeps[k];     //@keep_load
    alias[k] = aliases[k];  //@alias_load
    tally[k] = 0;           //@tally_clear
  }
  unsigned random = seeds[threadIdx.x];
#pragma unroll 1
  for (int i = 0; i < n; ++i) {
    const unsigned r = xorshift(random);
    const int column = AT(r % 40, 13);
    const float u = (r >> 8) * 5.9604645e-8f;
    const bool own = u < keep[column];  //@keep_test
    const int other = alias[column];    //@alias_take
    const int drawn = AT(own ? column : other, 29);
    tally[drawn]++;  //@tally_add
  }
#pragma unroll
  for (int k = 0; k < 40; ++k) out[k * 32 + threadIdx.x] = tally[k];  //@tally_store
}

/* labels
[[find]]
cause = "const-table"
object = "direction"
type = "unsigned int[32]"
size = 128
declared = "direction"
lines = ["direction_build", "direction_use"]
primary = ["direction_use"]
index = ["[bit]"]
sources = ["loop-counter run-time", "thread-id threadIdx.x", "block-id blockIdx.x"]
uniformity = "lane-varying"
*/
extern "C" __global__ void sobol_walk(unsigned *out, int n) {
  unsigned direction[32];  //@direction
  unsigned v = 1u << 31;
#pragma unroll
  for (int k = 0; k < 32; ++k) {
    direction[k] = v;  //@direction_build
    v ^= (v >> 1) ^ (v >> 4);
  }
  unsigned x = 0;
  const unsigned start = blockIdx.x * 256u + threadIdx.x;
#pragma unroll 1
  for (int i = 0; i < n; ++i) {
    const int bit = AT(__clz(__brev(~(start + i))), 2);
    x ^= direction[bit];  //@direction_use
    out[i * 65536 + start] = x;
  }
}

struct Sample {
  double position;
  float weight;
};

/* labels
[[find]]
cause = "dynamic-index"
object = "old"
type = "Sample[18]"
size = 288
declared = "old"
lines = ["old_load_position", "old_load_weight", "old_walk", "old_take"]
primary = ["old_walk", "old_take"]
index = ["[source + 1]", "[from]"]
sources = ["memory offsets", "memory weights", "memory old"]
optional = ["loop-counter run-time", "loop-counter constant"]
uniformity = "data-dependent"
*/
extern "C" __global__ void systematic_resampling(const double *positions, const float *weights, const float *offsets, double *out) {
  Sample old[18];  //@old
#pragma unroll
  for (int p = 0; p < 18; ++p) {
    old[p].position = positions[p * 64 + threadIdx.x];  //@old_load_position
    old[p].weight = weights[p * 64 + threadIdx.x];      //@old_load_weight
  }
  float reached = weights[threadIdx.x];
  float wanted = offsets[threadIdx.x];
  int source = 0;
#pragma unroll 1
  for (int p = 0; p < 18; ++p) {
#ifndef EXPERIMENT
#pragma unroll 1
    while (reached < wanted) {
      reached += old[source + 1].weight;  //@old_walk
      ++source;
    }
#endif
    const int from = AT(source, 6);
    out[p * 64 + threadIdx.x] = old[from].position;  //@old_take
    wanted += 1.0f / 18.0f;
  }
}

/* labels
promoted = ["reservoir"]
promoted_archs = ["sm_75"]
[[find]]
cause = "dynamic-index"
object = "reservoir"
type = "int2[20]"
size = 160
declared = "reservoir"
lines = ["reservoir_first", "reservoir_replace", "reservoir_store"]
primary = ["reservoir_replace"]
index = ["[victim]"]
sources = ["memory seeds", "loop-counter run-time"]
uniformity = "data-dependent"
archs = ["sm_80", "sm_90", "sm_100", "sm_120"]
*/
extern "C" __global__ void reservoir_sample(const int2 *items, const unsigned *seeds, int2 *out, int n) {
  int2 reservoir[20];  //@reservoir
#pragma unroll
  for (int k = 0; k < 20; ++k) reservoir[k] = items[k * 32 + threadIdx.x];  //@reservoir_first
  unsigned random = seeds[threadIdx.x];
#pragma unroll 1
  for (int i = 20; i < n; ++i) {
    const unsigned drawn = xorshift(random) % (i + 1);
    const unsigned victim = AT(drawn, 11);
    if (drawn < 20) reservoir[victim] = items[i * 32 + threadIdx.x];  //@reservoir_replace
  }
#pragma unroll
  for (int k = 0; k < 20; ++k) out[k * 32 + threadIdx.x] = reservoir[k];  //@reservoir_store
}

/* labels
[[find]]
cause = "math-slow-path"
primary = ["far_cosine"]
*/
extern "C" __global__ void box_muller_unreduced(const double2 *uniforms, double *normals, double turns) {
  const double2 u = uniforms[blockIdx.x * blockDim.x + threadIdx.x];
  const double radius = sqrt(-2.0 * u.x);
#ifdef EXPERIMENT
  normals[threadIdx.x] = radius * cospi(2.0 * turns * u.y);
#else
  normals[threadIdx.x] = radius * cos(6.283185307179586 * turns * u.y);  //@far_cosine
#endif
}
