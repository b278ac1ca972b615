// Attention, register tiles, register pressure. Labels were proven with -DEXPERIMENT.

#include <cuda_fp16.h>

#ifdef EXPERIMENT
#define AT(run_time, constant) (constant)
#define ROLLED _Pragma("unroll")
#define BY_FOUR _Pragma("unroll")
#define THREADS 128
#define BLOCKS 1
#define CAP 255
#define HELD(values, fewer) fewer
#else
#define AT(run_time, constant) (run_time)
#define ROLLED _Pragma("unroll 1")
#define BY_FOUR _Pragma("unroll 4")
#define THREADS 1024
#define BLOCKS 2
#define CAP 32
#define HELD(values, fewer) values
#endif

/* labels
[[find]]
cause = "rolled-loop"
object = "out"
type = "float[64]"
size = 256
declared = "out"
lines = ["out_clear", "out_scale", "out_store"]
primary = ["out_clearing", "out_scaling", "out_storing"]
index = ["[d]"]
sources = ["loop-counter constant"]
uniformity = "uniform"
*/
extern "C" __global__ void attention_by_four(const float *q, const float *k, const float *v, float *o, int keys) {
  float out[64];  //@out
  float top = -1e30f, sum = 0.0f;
  BY_FOUR
  for (int d = 0; d < 64; ++d)  //@out_clearing
    out[d] = 0.0f;              //@out_clear
  for (int j = 0; j < keys; ++j) {
    float s = 0.0f;
    for (int d = 0; d < 64; ++d) s = fmaf(q[d * 4096 + threadIdx.x], k[j * 64 + d], s);
    const float higher = fmaxf(top, s), shrink = __expf(top - higher), p = __expf(s - higher);
    sum = sum * shrink + p;
    top = higher;
    BY_FOUR
    for (int d = 0; d < 64; ++d)                      //@out_scaling
      out[d] = fmaf(p, v[j * 64 + d], out[d] * shrink);  //@out_scale
  }
  BY_FOUR
  for (int d = 0; d < 64; ++d)                       //@out_storing
    o[d * 4096 + threadIdx.x] = out[d] / sum;        //@out_store
}

/* labels
[[find]]
cause = "dynamic-index"
object = "query"
type = "float[128]"
size = 512
declared = "query"
lines = ["query_load", "query_dot"]
primary = ["query_load", "query_dot"]
index = ["[d]"]
sources = ["loop-counter run-time"]
uniformity = "uniform"
[[find]]
cause = "dynamic-index"
object = "mixed"
type = "float[128]"
size = 512
declared = "mixed"
lines = ["mixed_clear", "mixed_add", "mixed_store"]
primary = ["mixed_clear", "mixed_add", "mixed_store"]
index = ["[d]"]
sources = ["loop-counter run-time"]
uniformity = "uniform"
*/
extern "C" __global__ void attention_any_dimension(const float *q, const float *kv, float *o, int keys, int dimension) {
#ifdef EXPERIMENT
  const int width = 16;
#else
  const int width = dimension;
#endif
  float query[128];  //@query
  float mixed[128];  //@mixed
  ROLLED
  for (int d = 0; d < width; ++d) {
    query[d] = q[d * 2048 + threadIdx.x];  //@query_load
    mixed[d] = q[d * 2048 + blockIdx.x];   //@mixed_clear
  }
#pragma unroll 1
  for (int j = 0; j < keys; ++j) {
    float s = 0.0f;
    ROLLED
    for (int d = 0; d < width; ++d) s = fmaf(query[d], kv[j * width + d], s);  //@query_dot
    s = __expf(s);
    ROLLED
    for (int d = 0; d < width; ++d) mixed[d] += s * kv[(keys + j) * width + d];  //@mixed_add
  }
  ROLLED
  for (int d = 0; d < width; ++d) o[d * 2048 + threadIdx.x] = mixed[d];  //@mixed_store
}

/* labels
clean = true
*/
extern "C" __global__ void softmax_rows_in_registers(const float4 *x, float4 *y) {
  float4 part[4];
  float top = -1e30f, sum = 0.0f;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    part[i] = x[blockIdx.x * 128 + i * 32 + threadIdx.x];
    top = fmaxf(fmaxf(fmaxf(top, part[i].x), fmaxf(part[i].y, part[i].z)), part[i].w);
  }
#pragma unroll
  for (int apart = 16; apart > 0; apart >>= 1) top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, apart));
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    part[i] = make_float4(__expf(part[i].x - top), __expf(part[i].y - top), __expf(part[i].z - top), __expf(part[i].w - top));
    sum += part[i].x + part[i].y + part[i].z + part[i].w;
  }
#pragma unroll
  for (int apart = 16; apart > 0; apart >>= 1) sum += __shfl_xor_sync(0xffffffffu, sum, apart);
#pragma unroll
  for (int i = 0; i < 4; ++i)
    y[blockIdx.x * 128 + i * 32 + threadIdx.x] = make_float4(part[i].x / sum, part[i].y / sum, part[i].z / sum, part[i].w / sum);
}

struct Running {
  float top[24];
  float sum[24];
};

/* labels
[[find]]
cause = "dynamic-index"
object = "running.top"
type = "float[24]"
size = 96
declared = "running"
lines = ["top_start", "top_read", "top_write", "top_store"]
primary = ["top_read", "top_write"]
index = ["[head]"]
sources = ["loop-counter run-time", "parameter heads"]
uniformity = "uniform"
[[find]]
cause = "dynamic-index"
object = "running.sum"
type = "float[24]"
size = 96
declared = "running"
lines = ["sum_start", "sum_update", "sum_store"]
primary = ["sum_update"]
index = ["[head]"]
sources = ["loop-counter run-time", "parameter heads"]
uniformity = "uniform"
*/
extern "C" __global__ void maxima_by_head(const float *scores, float *out, int heads, int n) {
  Running running;  //@running
#pragma unroll
  for (int h = 0; h < 24; ++h) {
    running.top[h] = -1e30f;  //@top_start
    running.sum[h] = 0.0f;    //@sum_start
  }
#pragma unroll 1
  for (int i = 0; i < n; ++i) {
    const int head = AT(i % heads, 11);
    const float s = scores[i * 256 + threadIdx.x];
    const float before = running.top[head];  //@top_read
    const float after = fmaxf(before, s);
    running.top[head] = after;                                                              //@top_write
    running.sum[head] = running.sum[head] * __expf(before - after) + __expf(s - after);     //@sum_update
  }
#pragma unroll
  for (int h = 0; h < 24; ++h) {
    out[h * 256 + threadIdx.x] = running.top[h];         //@top_store
    out[(24 + h) * 256 + threadIdx.x] = running.sum[h];  //@sum_store
  }
}

/* labels
[[find]]
cause = "register-spill"
*/
extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) outer_product_8x8(const float *a, const float *b, float *c, int depth) {
  float sum[8][8];
#pragma unroll
  for (int i = 0; i < 64; ++i) sum[i / 8][i % 8] = 0.0f;
  for (int k = 0; k < depth; ++k) {
    float left[8], right[8];
#pragma unroll
    for (int i = 0; i < 8; ++i) left[i] = a[k * 1024 + threadIdx.y * 8 + i], right[i] = b[k * 1024 + threadIdx.x * 8 + i];
#pragma unroll
    for (int i = 0; i < 64; ++i) sum[i / 8][i % 8] = fmaf(left[i / 8], right[i % 8], sum[i / 8][i % 8]);
  }
#pragma unroll
  for (int i = 0; i < 64; ++i) c[(threadIdx.y * 8 + i / 8) * 1024 + threadIdx.x * 8 + i % 8] = sum[i / 8][i % 8];
}

/* labels
[[find]]
cause = "register-spill"
*/
extern "C" __global__ void lattice_of_doubles(double *cells, double rate, int steps) {
  const int count = HELD(150, 50);
  double u[count];
#pragma unroll
  for (int i = 0; i < count; ++i) u[i] = cells[i * 4096 + threadIdx.x];
#pragma unroll 1
  for (int s = 0; s < steps; ++s) {
    const double edge = u[0];
#pragma unroll
    for (int i = 0; i < count - 1; ++i) u[i] = fma(rate, u[i + 1] - u[i], u[i]);
    u[count - 1] = fma(rate, edge - u[count - 1], u[count - 1]);
  }
#pragma unroll
  for (int i = 0; i < count; ++i) cells[i * 4096 + threadIdx.x] = u[i];
}

/* labels
[[find]]
cause = "register-spill"
[[find]]
cause = "dynamic-index"
object = "bucket"
type = "int[40]"
size = 160
declared = "bucket"
lines = ["bucket_clear", "bucket_add", "bucket_store"]
primary = ["bucket_add"]
index = ["[bin]"]
sources = ["memory x"]
uniformity = "data-dependent"
*/
extern "C" __maxnreg__(CAP) __global__ void moments_and_buckets(const float *x, float *y, int *counts, int n) {
  int bucket[40];  //@bucket
  float power[36];
#pragma unroll
  for (int b = 0; b < 40; ++b) bucket[b] = 0;  //@bucket_clear
#pragma unroll
  for (int p = 0; p < 36; ++p) power[p] = 0.0f;
#pragma unroll 1
  for (int i = threadIdx.x; i < n; i += blockDim.x) {
    const float value = x[i];
    const int bin = AT((int)(value * 40.0f), 17);
    bucket[bin] += 1;  //@bucket_add
    float product = value;
#pragma unroll
    for (int p = 0; p < 36; ++p) power[p] += product, product *= value;
  }
#pragma unroll
  for (int b = 0; b < 40; ++b) counts[b * 256 + threadIdx.x] = bucket[b];  //@bucket_store
#pragma unroll
  for (int p = 0; p < 36; ++p) y[p * 256 + threadIdx.x] = power[p];
}

/* labels
clean = true
*/
extern "C" __global__ void __launch_bounds__(128) wide_tile_of_doubles(const double *a, const double *b, double *c, int depth) {
  double sum[9][9];
#pragma unroll
  for (int i = 0; i < 81; ++i) sum[i / 9][i % 9] = 0.0;
#pragma unroll 1
  for (int k = 0; k < depth; ++k) {
    double left[9], right[9];
#pragma unroll
    for (int i = 0; i < 9; ++i) left[i] = a[(k * 9 + i) * 512 + threadIdx.y], right[i] = b[(k * 9 + i) * 512 + threadIdx.x];
#pragma unroll
    for (int i = 0; i < 81; ++i) sum[i / 9][i % 9] = fma(left[i / 9], right[i % 9], sum[i / 9][i % 9]);
  }
#pragma unroll
  for (int i = 0; i < 81; ++i) c[i * 65536 + threadIdx.y * 512 + threadIdx.x] = sum[i / 9][i % 9];
}

/* labels
[[find]]
cause = "dynamic-index"
object = "row"
type = "__half2[32]"
size = 128
declared = "row"
lines = ["row_load", "row_use"]
primary = ["row_use"]
index = ["[pair]"]
sources = ["parameter first", "loop-counter run-time"]
uniformity = "uniform"
*/
extern "C" __global__ void half_row(const __half2 *x, __half2 *y, int first, int n) {
  __half2 row[32];  //@row
#pragma unroll
  for (int i = 0; i < 32; ++i) row[i] = x[i * 128 + threadIdx.x];  //@row_load
  __half2 sum = __float2half2_rn(0.0f);
#pragma unroll 1
  for (int i = 0; i < n; ++i) {
    const int pair = AT((first + i * 5) & 31, 12);
    sum = __hfma2(row[pair], sum, row[pair]);  //@row_use
  }
  y[threadIdx.x] = sum;
}

template <typename Element, int Count>
__device__ __forceinline__ Element smallest_above(const Element (&values)[Count], Element floor_value) {
  Element least = 32000;
  ROLLED
  for (int i = 0; i < Count; ++i) {  //@values_loop
    const Element e = values[i];     //@values_read
    if (e > floor_value && e < least) least = e;
  }
  return least;
}

/* labels
[[find]]
cause = "rolled-loop"
object = "group"
type = "short[56]"
size = 112
declared = "group"
lines = ["group_load", "values_read"]
primary = ["values_loop", "group_loop"]
index = ["[i]", "[g]"]
sources = ["loop-counter constant"]
uniformity = "uniform"
*/
template <typename Element>
__global__ void group_thresholds(const Element *x, Element *y, int rounds) {
  Element group[56];  //@group
  ROLLED
  for (int g = 0; g < 56; ++g)               //@group_loop
    group[g] = x[g * 512 + threadIdx.x];     //@group_load
  Element above = 0;
#pragma unroll 1
  for (int r = 0; r < rounds; ++r) above = smallest_above(group, above);
  y[threadIdx.x] = above;
}

template __global__ void group_thresholds<short>(const short *, short *, int);

/* labels
promoted = ["few"]
*/
extern "C" __global__ void pick_of_four(const float *x, float *y, int n) {
  float few[4];
  for (int i = 0; i < 4; ++i) few[i] = x[i * 64 + threadIdx.x] * 3.0f;
  for (int i = 0; i < n; ++i) y[i * 64 + threadIdx.x] = few[(threadIdx.x + i) & 3];
}
