// Members, unions, lambdas, references, scopes, names: what C++ calls an array. -DEXPERIMENT takes
// the cause of local memory away from every kernel here: its frame is then 0.

#ifdef EXPERIMENT
#define AT(run_time, constant) (constant)
#else
#define AT(run_time, constant) (run_time)
#endif

struct Joint {
  float angle[12];
  int parent;
};

struct Arm {
  Joint shoulder;
  Joint elbow;
  float reach;
};

struct Body {
  Arm left;
  Arm right;
};

/* labels
[[find]]
cause = "dynamic-index"
object = "body.right.elbow.angle"
type = "float[12]"
size = 48
declared = "members_body"
lines = ["members_pose", "members_turn", "members_sum"]
primary = ["members_turn"]
index = ["[AT(k, 5)]", "[k]"]
sources = ["memory order"]
uniformity = "uniform"
*/
extern "C" __global__ void nested_members(const float *pose, const int *order, float *out, int n) {
  Body body;  //@members_body
#pragma unroll
  for (int i = 0; i < 12; ++i)
    body.right.elbow.angle[i] = pose[i * 64 + threadIdx.x];  //@members_pose
  for (int i = 0; i < n; ++i) {
    const int k = order[i];
    body.right.elbow.angle[AT(k, 5)] *= 0.5f;  //@members_turn
  }
  float sum = 0.0f;
#pragma unroll
  for (int i = 0; i < 12; ++i) sum += body.right.elbow.angle[i] * i;  //@members_sum
  out[threadIdx.x] = sum;
}

/* labels
[[find]]
cause = "dynamic-index"
object = "bits"
type = "unsigned int[20]"
size = 80
declared = "anonymous_bits"
lines = ["anonymous_write", "anonymous_flip", "anonymous_read"]
primary = ["anonymous_flip"]
index = ["[at]"]
sources = ["memory where"]
uniformity = "data-dependent"
*/
extern "C" __global__ void anonymous_union(const float *x, const int *where, float *y, int n) {
  union {
    float numbers[20];
    unsigned bits[20];  //@anonymous_bits
  };
#pragma unroll
  for (int i = 0; i < 20; ++i) numbers[i] = x[i];  //@anonymous_write
  for (int i = 0; i < n; ++i) {
    const int at = AT(where[i * 32 + threadIdx.x] % 20, 7);
    bits[at] ^= 0x80000000u;  //@anonymous_flip
  }
#pragma unroll
  for (int i = 0; i < 20; ++i) y[i * 32 + threadIdx.x] = numbers[i];  //@anonymous_read
}

struct Pixel {
  union {
    struct {
      unsigned char red, green, blue, alpha;
    };
    unsigned char channel[4];
    unsigned word;
  };
};

/* labels
[[find]]
cause = "dynamic-index"
object = "palette"
type = "Pixel[20]"
size = 80
declared = "pixels_palette"
lines = ["pixels_load", "pixels_add", "pixels_store"]
primary = ["pixels_add"]
index = ["[AT(at, 3)].channel[AT(plane, 1)]", "[AT(at, 3)]", "[AT(plane, 1)]", "[at].channel[plane]", "[at]", "[plane]"]
sources = ["memory indices", "parameter plane"]
uniformity = "data-dependent"
*/
extern "C" __global__ void pixel_channels(const unsigned *colours, const unsigned char *indices,
                                          unsigned *out, int n, int plane) {
  Pixel palette[20];  //@pixels_palette
#pragma unroll
  for (int i = 0; i < 20; ++i) palette[i].word = colours[i];  //@pixels_load
  for (int i = 0; i < n; ++i) {
    const int at = indices[i * 32 + threadIdx.x];
    palette[AT(at, 3)].channel[AT(plane, 1)] += 1;  //@pixels_add
  }
#pragma unroll
  for (int i = 0; i < 20; ++i) out[i * 32 + threadIdx.x] = palette[i].word;  //@pixels_store
}

/* labels
promoted = ["row"]
promoted_archs = ["sm_75", "sm_80", "sm_90"]

[[find]]
cause = "dynamic-index"
object = "row"
type = "float[32]"
size = 128
declared = "vectors_row"
lines = ["vectors_fill", "vectors_take"]
primary = ["vectors_take"]
index = ["[AT(lane, 2)]", "[lane]"]
sources = ["thread-id threadIdx.x"]
uniformity = "lane-varying"
archs = ["sm_100", "sm_120"]
*/
extern "C" __global__ void as_vectors(const float *x, float4 *y, int n) {
  __align__(16) float row[32];  //@vectors_row
#pragma unroll
  for (int i = 0; i < 32; ++i) row[i] = x[i] * x[i + n];  //@vectors_fill
  const int lane = threadIdx.x & 7;
  y[threadIdx.x] = reinterpret_cast<const float4 *>(row)[AT(lane, 2)];  //@vectors_take
}

__device__ __forceinline__ void tally(int (&histogram)[24], int value) {
  const int bin = AT(value % 24, 11);
  ++histogram[bin];  //@tally_add
}

/* labels
[[find]]
cause = "dynamic-index"
object = "odd"
type = "int[24]"
size = 96
declared = "tallies_odd"
lines = ["tallies_odd", "tally_add", "tallies_sum"]
primary = ["tally_add"]
index = ["[bin]"]
sources = ["memory x"]
uniformity = "uniform"

[[find]]
cause = "dynamic-index"
object = "even"
type = "int[24]"
size = 96
declared = "tallies_even"
lines = ["tallies_even", "tally_add", "tallies_sum"]
primary = ["tally_add"]
index = ["[bin]"]
sources = ["memory x"]
uniformity = "uniform"
*/
extern "C" __global__ void by_reference(const int *x, int *y, int n) {
  int odd[24] = {};   //@tallies_odd
  int even[24] = {};  //@tallies_even
  for (int i = 0; i < n; ++i) {
    tally(odd, x[2 * i + 1]);
    tally(even, x[2 * i]);
  }
#pragma unroll
  for (int i = 0; i < 24; ++i) y[i] = odd[i] - even[i];  //@tallies_sum
}

/* labels
[[find]]
cause = "dynamic-index"
object = "weights"
type = "float[28]"
size = 112
declared = "captured_weights"
lines = ["captured_fill", "captured_use"]
primary = ["captured_use"]
index = ["[at]"]
sources = ["memory which"]
uniformity = "data-dependent"
*/
extern "C" __global__ void captured_by_reference(const float *x, const int *which, float *y,
                                                 int n) {
  float weights[28];  //@captured_weights
#pragma unroll
  for (int i = 0; i < 28; ++i) weights[i] = x[i] * 2.0f;  //@captured_fill
  const auto weigh = [&weights](float value, int at) {
    return value * weights[at];  //@captured_use
  };
  float sum = 0.0f;
  for (int i = 0; i < n; ++i) sum += weigh(x[i], AT(which[i * 32 + threadIdx.x], 5));
  y[threadIdx.x] = sum;
}

/* labels
[[find]]
cause = "dynamic-index"
object = "levels"
type = "float[28]"
size = 112
declared = "copied_lambda"
lines = ["copied_lambda", "copied_use"]
primary = ["copied_use"]
index = ["[at]"]
sources = ["thread-id threadIdx.x", "loop-counter run-time"]
uniformity = "lane-varying"
archs = ["sm_75", "sm_80", "sm_90"]

[[find]]
cause = "dynamic-index"
object = "levels"
type = "float[28]"
size = 112
declared = "copied_levels"
lines = ["copied_fill", "copied_use"]
primary = ["copied_use"]
index = ["[at]"]
sources = ["thread-id threadIdx.x", "loop-counter run-time"]
uniformity = "lane-varying"
archs = ["sm_100", "sm_120"]
*/
extern "C" __global__ void captured_by_value(const float *x, float *y, int n) {
  float levels[28];  //@copied_levels
#pragma unroll
  for (int i = 0; i < 28; ++i) levels[i] = x[i] * 2.0f;  //@copied_fill
  const auto level = [levels](int at) {  //@copied_lambda
    return levels[at];  //@copied_use
  };
  float sum = 0.0f;
  for (int i = 0; i < n; ++i) sum = sum * 0.5f + level(AT((i + threadIdx.x) % 28, 5));
  y[threadIdx.x] = sum;
}

template <typename T, int WINDOW>
struct Median {
  T sorted[WINDOW];
  __device__ void add(T value, int held) {
    int at = held;
    while (at > 0 && sorted[AT(at - 1, 4)] > value) {  //@median_compare
      sorted[AT(at, 5)] = sorted[AT(at - 1, 4)];       //@median_shift
      --at;
    }
    sorted[AT(at, 5)] = value;  //@median_insert
  }
  __device__ T middle(int held) const {
    return sorted[AT(held / 2, 5)];  //@median_middle
  }
};

/* labels
[[find]]
cause = "dynamic-index"
object = "median.sorted"
type = "float[25]"
size = 100
declared = "median_object"
lines = ["median_compare", "median_shift", "median_insert", "median_middle"]
primary = ["median_compare", "median_shift", "median_insert", "median_middle"]
index = ["[AT(at - 1, 4)]", "[AT(at, 5)]", "[AT(held / 2, 5)]", "[at - 1]", "[at]", "[held / 2]"]
sources = ["loop-counter run-time", "memory x", "memory median.sorted", "parameter n"]
uniformity = "data-dependent"
*/
extern "C" __global__ void median_filter(const float *x, float *y, int n) {
  Median<float, 25> median;  //@median_object
#pragma unroll 1
  for (int i = 0; i < n; ++i) median.add(x[i * 32 + threadIdx.x], i);
  y[threadIdx.x] = median.middle(n);
}

struct Halves {
  int low[16];
  int high[16];
};

__device__ __forceinline__ Halves halves_of(const int *x) {
  Halves halves;
#pragma unroll
  for (int i = 0; i < 16; ++i) {
    halves.low[i] = x[i] & 0xffff;
    halves.high[i] = x[i] >> 16;
  }
  return halves;
}

/* labels
[[find]]
cause = "dynamic-index"
object = "low"
type = "int[16]"
size = 64
declared = "bindings_declared"
lines = ["bindings_declared", "bindings_pick"]
primary = ["bindings_pick"]
index = ["[AT(i % 16, 3)]", "[i % 16]"]
sources = ["loop-counter run-time"]
uniformity = "uniform"
*/
extern "C" __global__ void structured_bindings(const int *x, int *y, int n) {
  const auto [low, high] = halves_of(x);  //@bindings_declared
  int sum = 0;
#pragma unroll 1
  for (int i = 0; i < n; ++i) sum = sum * 3 + low[AT(i % 16, 3)];  //@bindings_pick
  y[threadIdx.x] = sum + high[0];
}

/* labels
[[find]]
cause = "dynamic-index"
object = "part"
type = "int[20]"
size = 80
declared = "scopes_first"
lines = ["scopes_first", "scopes_count", "scopes_gather"]
primary = ["scopes_count"]
index = ["[AT(x[i] % 20, 3)]", "[x[i] % 20]"]
sources = ["memory x"]
uniformity = "uniform"

[[find]]
cause = "dynamic-index"
object = "part"
type = "float[36]"
size = 144
declared = "scopes_second"
lines = ["scopes_fill", "scopes_read"]
primary = ["scopes_read"]
index = ["[AT(i % 36, 5)]", "[i % 36]"]
sources = ["loop-counter run-time"]
uniformity = "uniform"
*/
extern "C" __global__ void one_name_two_scopes(const int *x, const float *w, float *y, int n) {
  float total = 0.0f;
  {
    int part[20] = {};                                       //@scopes_first
    for (int i = 0; i < n; ++i) part[AT(x[i] % 20, 3)] += i;  //@scopes_count
#pragma unroll
    for (int i = 0; i < 20; ++i) total += part[i] * w[i];  //@scopes_gather
  }
  {
    float part[36];  //@scopes_second
#pragma unroll
    for (int i = 0; i < 36; ++i) part[i] = w[i] * w[i + 1];  //@scopes_fill
#pragma unroll 1
    for (int i = 0; i < n; ++i) total = total * 0.5f + part[AT(i % 36, 5)];  //@scopes_read
  }
  y[threadIdx.x] = total;
}

/* labels
[[find]]
cause = "dynamic-index"
object = "seen"
type = "short[24]"
size = 48
declared = "shadow_inner"
lines = ["shadow_inner", "shadow_count", "shadow_add"]
primary = ["shadow_count"]
index = ["[AT(x[i] % 24, 3)]", "[x[i] % 24]"]
sources = ["memory x"]
uniformity = "uniform"
*/
extern "C" __global__ void shadowing(const int *x, int *y, int n) {
  int seen[24];
#pragma unroll
  for (int i = 0; i < 24; ++i) seen[i] = x[i * 32 + threadIdx.x];
  int total = 0;
  if (n > 24) {
    short seen[24] = {};                                    //@shadow_inner
    for (int i = 0; i < n; ++i) ++seen[AT(x[i] % 24, 3)];  //@shadow_count
#pragma unroll
    for (int i = 0; i < 24; ++i) total += seen[i] * i;  //@shadow_add
  }
#pragma unroll
  for (int i = 0; i < 24; ++i) y[i * 32 + threadIdx.x] = seen[i] * seen[(i + 5) % 24] + total;
}

__device__ __forceinline__ float filtered(const float *x, int k) {
  float taps[40];  //@taps_declared
#pragma unroll
  for (int i = 0; i < 40; ++i) taps[i] = x[i] * x[i + 40];  //@taps_fill
#pragma unroll 1
  for (int i = 0; i < k; ++i) taps[AT(i * k % 40, 4)] *= 0.5f;  //@taps_scale
  return taps[AT(k % 40, 4)] - taps[7];                         //@taps_pick
}

/* labels
[[find]]
cause = "dynamic-index"
object = "taps"
type = "float[40]"
size = 160
declared = "taps_declared"
lines = ["taps_fill", "taps_scale", "taps_pick"]
primary = ["taps_scale", "taps_pick"]
index = ["[AT(i * k % 40, 4)]", "[i * k % 40]", "[AT(k % 40, 4)]", "[k % 40]"]
sources = ["loop-counter run-time", "memory k"]
uniformity = "data-dependent"
*/
extern "C" __global__ void three_copies(const float *x, const unsigned *k, float *y) {
  const float red = filtered(x, k[threadIdx.x]);
  const float green = filtered(x + 64, k[threadIdx.x + 32]);
  const float blue = filtered(x + 128, k[threadIdx.x + 64]);
  y[threadIdx.x] = red * 0.3f + green * 0.6f + blue * 0.1f;
}

#define DECLARE_QUEUE(type, name, length) \
  type name[length];                      \
  int name##_head = 0, name##_tail = 0

/* labels
[[find]]
cause = "dynamic-index"
object = "pending"
type = "int[32]"
size = 128
declared = "queue_pending"
lines = ["queue_root", "queue_pop", "queue_push"]
primary = ["queue_pop", "queue_push"]
index = ["[AT(pending_head++ & 31, 5)]", "[pending_head++ & 31]", "[AT(pending_tail++ & 31, 5)]", "[pending_tail++ & 31]"]
sources = ["loop-counter run-time", "memory first_child", "memory sibling"]
uniformity = "data-dependent"
*/
extern "C" __global__ void declared_by_macro(const int *first_child, const int *sibling, int *y) {
  DECLARE_QUEUE(int, pending, 32);  //@queue_pending
  pending[AT(pending_tail++ & 31, 5)] = threadIdx.x;  //@queue_root
  int visited = 0;
#pragma unroll 1
  while (pending_head < pending_tail) {
    const int node = pending[AT(pending_head++ & 31, 5)];  //@queue_pop
    visited += node;
#pragma unroll 1
    for (int child = first_child[node]; child >= 0; child = sibling[child])
      pending[AT(pending_tail++ & 31, 5)] = child;  //@queue_push
  }
  y[threadIdx.x] = visited;
}

/* labels
[[find]]
cause = "dynamic-index"
object = "before"
type = "float[20]"
size = 80
declared = "declarators"
lines = ["declarators_before", "declarators_mix"]
primary = ["declarators_mix"]
index = ["[AT(i % 20, 3)]", "[i % 20]"]
sources = ["loop-counter run-time"]
uniformity = "uniform"

[[find]]
cause = "dynamic-index"
object = "after"
type = "float[24]"
size = 96
declared = "declarators"
lines = ["declarators_after", "declarators_mix", "declarators_write"]
primary = ["declarators_mix"]
index = ["[AT(k, 7)]", "[k]"]
sources = ["memory order"]
uniformity = "uniform"
*/
extern "C" __global__ void one_line(const float *x, const int *order, float *y, int n) {
  float before[20], after[24], *out = y + threadIdx.x, scale = x[0];  //@declarators
#pragma unroll
  for (int i = 0; i < 20; ++i) before[i] = x[i] * scale;  //@declarators_before
#pragma unroll
  for (int i = 0; i < 24; ++i) after[i] = 0.0f;  //@declarators_after
#pragma unroll 1
  for (int i = 0; i < n; ++i) {
    const int k = order[i];
    after[AT(k, 7)] += before[AT(i % 20, 3)];  //@declarators_mix
  }
#pragma unroll
  for (int i = 0; i < 24; ++i) out[i * 32] = after[i];  //@declarators_write
}

typedef float Row[24];
using Grid = Row[3];

/* labels
[[find]]
cause = "dynamic-index"
object = "grid"
type = ["float[3][24]", "Grid"]
size = 288
declared = "typedefs_grid"
lines = ["typedefs_fill", "typedefs_mirror"]
primary = ["typedefs_mirror"]
index = ["[AT(i % 3, 1)][AT(column, 4)]", "[i % 3][column]"]
sources = ["loop-counter run-time", "block-id blockIdx.x"]
uniformity = "uniform"
*/
extern "C" __global__ void typedef_names(const float *x, float *y, int n) {
  Grid grid;  //@typedefs_grid
#pragma unroll
  for (int i = 0; i < 72; ++i) grid[i / 24][i % 24] = x[i] * x[i + 1];  //@typedefs_fill
  const int column = blockIdx.x % 24;
  float sum = 0.0f;
#pragma unroll 1
  for (int i = 0; i < n; ++i)
    sum = sum * 0.5f + grid[AT(i % 3, 1)][AT(column, 4)];  //@typedefs_mirror
  y[blockIdx.x] = sum;
}

/* labels
[[find]]
cause = "dynamic-index"
object = "codes"
type = "unsigned char[8]"
size = 8
declared = "scalars_codes"
lines = ["scalars_load", "scalars_rotate", "scalars_read"]
primary = ["scalars_rotate"]
index = ["[AT(turn & 7, 1)]", "[turn & 7]"]
sources = ["memory turns"]
uniformity = "data-dependent"
*/
extern "C" __global__ void beside_scalars(const unsigned char *x, const double *limits,
                                          const int *turns, double *y, int n) {
  const double low = limits[0], high = limits[1];
  const long long count = n;
  unsigned char codes[8];  //@scalars_codes
#pragma unroll
  for (int i = 0; i < 8; ++i) codes[i] = x[i * 32 + threadIdx.x];  //@scalars_load
  for (int i = 0; i < n; ++i) {
    const int turn = turns[i * 32 + threadIdx.x];
    codes[AT(turn & 7, 1)] += turn >> 3;  //@scalars_rotate
  }
  double sum = 0.0;
#pragma unroll
  for (int i = 0; i < 8; ++i) sum = sum * low + codes[i];  //@scalars_read
  y[threadIdx.x] = sum * high / count;
}

struct __align__(16) Sample {
  float value;
  unsigned char kind;
};

#pragma pack(push, 1)
struct Record {
  unsigned char kind;
  unsigned value;
};
#pragma pack(pop)

/* labels
[[find]]
cause = "dynamic-index"
object = "samples"
type = "Sample[10]"
size = 160
declared = "padded_samples"
lines = ["padded_clear", "padded_value", "padded_kind", "padded_read"]
primary = ["padded_value", "padded_kind"]
index = ["[at]"]
sources = ["memory x"]
uniformity = "uniform"
*/
extern "C" __global__ void padded_structures(const int *x, float *y, int n) {
  Sample samples[10];  //@padded_samples
#pragma unroll
  for (int i = 0; i < 10; ++i) samples[i] = {0.0f, 0};  //@padded_clear
  for (int i = 0; i < n; ++i) {
    const int at = AT(x[i] % 10, 3);
    samples[at].value += i;  //@padded_value
    samples[at].kind = 1;    //@padded_kind
  }
#pragma unroll
  for (int i = 0; i < 10; ++i) y[i] = samples[i].kind ? samples[i].value : -1.0f;  //@padded_read
}

/* labels
[[find]]
cause = "dynamic-index"
object = "records"
type = "Record[13]"
size = 65
declared = "packed_records"
lines = ["packed_kind", "packed_value", "packed_add", "packed_read"]
primary = ["packed_add", "packed_mine"]
index = ["[AT(threadIdx.x % 13, 3)]", "[threadIdx.x % 13]"]
sources = ["thread-id threadIdx.x"]
uniformity = "lane-varying"
*/
extern "C" __global__ void packed_structures(const unsigned *x, unsigned *y) {
  Record records[13];  //@packed_records
#pragma unroll
  for (int i = 0; i < 13; ++i) {
    records[i].kind = i;                           //@packed_kind
    records[i].value = x[i * 32 + threadIdx.x];  //@packed_value
  }
  Record &mine = records[AT(threadIdx.x % 13, 3)];  //@packed_mine
  mine.value += mine.kind * 7;                     //@packed_add
#pragma unroll
  for (int i = 0; i < 13; ++i) y[i * 32 + threadIdx.x] = records[i].value;  //@packed_read
}
