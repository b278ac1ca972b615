// CUB, cuda::std and cooperative groups with arrays of each thread's own. -DEXPERIMENT takes the
// cause of local memory away from every kernel here: its frame is then 0.

// lmemscope: instantiate selection::strided_best<float, 20>, selection::strided_best<double, 36>

#include <cooperative_groups.h>
#include <cub/block/block_radix_sort.cuh>
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>
#include <cub/warp/warp_scan.cuh>
#include <cuda/std/array>
#include <cuda/std/bitset>
#include <cuda/std/cstddef>
#include <cuda/std/span>
#include <cuda/std/tuple>
#include <cuda/std/utility>

#ifdef EXPERIMENT
#define AT(run_time, constant) (constant)
#define ROLLED _Pragma("unroll")
#else
#define AT(run_time, constant) (run_time)
#define ROLLED _Pragma("unroll 1")
#endif

namespace cg = cooperative_groups;

/* labels
clean = true
*/
extern "C" __global__ void block_prefix_sums(const int *x, int *y) {
  using Scan = cub::BlockScan<int, 128>;
  __shared__ typename Scan::TempStorage storage;
  int items[8];
#pragma unroll
  for (int i = 0; i < 8; ++i) items[i] = x[threadIdx.x * 8 + i];
  Scan(storage).ExclusiveSum(items, items);
#pragma unroll
  for (int i = 0; i < 8; ++i) y[threadIdx.x * 8 + i] = items[i];
}

/* labels
[[find]]
cause = "dynamic-index"
object = "sums"
type = "int[20]"
size = 80
declared = "chosen_sums"
lines = ["chosen_scan", "chosen_pick"]
primary = ["chosen_pick"]
index = ["[AT(wanted[i] % 20, 7)]", "[wanted[i] % 20]"]
sources = ["memory wanted"]
uniformity = "uniform"
*/
extern "C" __global__ void one_of_the_sums(const int *x, const int *wanted, int *y, int n) {
  using Scan = cub::BlockScan<int, 128>;
  __shared__ typename Scan::TempStorage storage;
  int items[20], sums[20];  //@chosen_sums
#pragma unroll
  for (int i = 0; i < 20; ++i) items[i] = x[i * 128 + threadIdx.x];
  Scan(storage).InclusiveSum(items, sums);  //@chosen_scan
  int total = 0;
  for (int i = 0; i < n; ++i) total = total * 3 + sums[AT(wanted[i] % 20, 7)];  //@chosen_pick
  y[threadIdx.x] = total;
}

/* labels
clean = true
*/
extern "C" __global__ void sorted_tiles(unsigned *keys, float *values) {
  using Sort = cub::BlockRadixSort<unsigned, 128, 4, float>;
  __shared__ typename Sort::TempStorage storage;
  unsigned key[4];
  float value[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    key[i] = keys[threadIdx.x * 4 + i];
    value[i] = values[threadIdx.x * 4 + i];
  }
  Sort(storage).Sort(key, value);
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    keys[threadIdx.x * 4 + i] = key[i];
    values[threadIdx.x * 4 + i] = value[i];
  }
}

/* labels
[[find]]
cause = "rolled-loop"
object = "partial"
type = "float[24]"
size = 96
declared = "columns_partial"
lines = ["columns_clear", "columns_add", "columns_write"]
primary = ["columns_loop"]
index = ["[j]"]
sources = ["loop-counter constant"]
uniformity = "uniform"
*/
extern "C" __global__ void column_sums(const float *x, float *y, int rows) {
  using Reduce = cub::BlockReduce<float, 128>;
  __shared__ typename Reduce::TempStorage storage;
  float partial[24];  //@columns_partial
#pragma unroll
  for (int j = 0; j < 24; ++j) partial[j] = 0.0f;  //@columns_clear
  for (int row = threadIdx.x; row < rows; row += 128) {
    ROLLED
    for (int j = 0; j < 24; ++j)          //@columns_loop
      partial[j] += x[row * 24 + j];  //@columns_add
  }
#pragma unroll
  for (int j = 0; j < 24; ++j) {
    const float sum = Reduce(storage).Sum(partial[j]);  //@columns_write
    if (threadIdx.x == 0) y[blockIdx.x * 24 + j] = sum;
    __syncthreads();
  }
}

/* labels
[[find]]
cause = "dynamic-index"
object = "bins"
type = "cuda::std::array<int, 24>"
size = 96
declared = "array_bins"
lines = ["array_bins", "array_count", "array_read"]
primary = ["array_count"]
index = ["[AT(x[i * 32 + threadIdx.x] % 24, 3)]", "[x[i * 32 + threadIdx.x] % 24]"]
sources = ["memory x"]
uniformity = "data-dependent"
*/
extern "C" __global__ void standard_array(const unsigned *x, int *y, int n) {
  cuda::std::array<int, 24> bins = {};  //@array_bins
  for (int i = 0; i < n; ++i) ++bins[AT(x[i * 32 + threadIdx.x] % 24, 3)];  //@array_count
#pragma unroll
  for (int i = 0; i < 24; ++i) y[i * 32 + threadIdx.x] = bins[i];  //@array_read
}

/* labels
[[find]]
cause = "dynamic-index"
object = "seen"
type = "cuda::std::bitset<768>"
size = 96
declared = "bitset_seen"
lines = ["bitset_seen", "bitset_test", "bitset_set"]
primary = ["bitset_test", "bitset_set"]
sources = ["memory next"]
uniformity = "data-dependent"
*/
extern "C" __global__ void standard_bitset(const unsigned *next, int *y) {
  cuda::std::bitset<768> seen;  //@bitset_seen
  unsigned node = next[threadIdx.x] % 768;
  int length = 0;
#pragma unroll 1
  while (!seen[AT(node, 100)]) {  //@bitset_test
    seen[AT(node, 100)] = true;   //@bitset_set
    node = next[node] % 768;
    ++length;
  }
  y[threadIdx.x] = length;
}

/* labels
[[find]]
cause = "dynamic-index"
object = "storage"
type = "float[30]"
size = 120
declared = "span_storage"
lines = ["span_fill", "span_use"]
primary = ["span_use"]
index = ["[AT(i % 30, 4)]", "[AT(i * 7 % 30, 9)]", "[i % 30]", "[i * 7 % 30]"]
sources = ["loop-counter run-time"]
uniformity = "uniform"
*/
extern "C" __global__ void standard_span(const float *x, float *y, unsigned n) {
  float storage[30];  //@span_storage
#pragma unroll
  for (int i = 0; i < 30; ++i) storage[i] = x[i * 32 + threadIdx.x];  //@span_fill
  const cuda::std::span<float, 30> view(storage);
  float sum = 0.0f;
#pragma unroll 1
  for (unsigned i = 0; i < n; ++i)
    sum = sum * 0.5f + view[AT(i % 30, 4)] * view[AT(i * 7 % 30, 9)];  //@span_use
  y[threadIdx.x] = sum;
}

/* labels
clean = true
*/
extern "C" __global__ void standard_tuple(const float *x, float *y) {
  const cuda::std::array<float, 4> filter{x[0], x[1], x[2], x[3]};
  auto parts = cuda::std::make_tuple(filter, x[threadIdx.x]);
  auto &[taps, value] = parts;
  float sum = 0.0f;
#pragma unroll
  for (int i = 0; i < 4; ++i) sum += taps[i] * value;
  y[threadIdx.x] = sum;
}

/* labels
[[find]]
cause = "dynamic-index"
object = "mine"
type = "int[28]"
size = 112
declared = "tile_mine"
lines = ["tile_load", "tile_exchange"]
primary = ["tile_exchange"]
index = ["[AT(place, 5)]", "[place]"]
sources = ["memory order"]
uniformity = "uniform"
*/
extern "C" __global__ void tile_leader(const int *x, const int *order, int *y, int n) {
  const auto tile = cg::tiled_partition<32>(cg::this_thread_block());
  int mine[28];  //@tile_mine
#pragma unroll
  for (int i = 0; i < 28; ++i) mine[i] = x[i * 32 + threadIdx.x];  //@tile_load
  int sum = 0;
#pragma unroll 1
  for (int i = 0; i < n; ++i) {
    const int place = tile.shfl(order[i * 32 + threadIdx.x], 0);
    sum = sum * 3 + mine[AT(place, 5)];  //@tile_exchange
  }
  y[threadIdx.x] = sum;
}

/* labels
[[find]]
cause = "dynamic-index"
object = "mine"
type = "int[28]"
size = 112
declared = "half_mine"
lines = ["half_load", "half_exchange"]
primary = ["half_exchange"]
index = ["[AT(place, 5)]", "[place]"]
sources = ["memory order"]
uniformity = "data-dependent"
*/
extern "C" __global__ void half_warp_leader(const int *x, const int *order, int *y, int n) {
  const auto tile = cg::tiled_partition<16>(cg::this_thread_block());
  int mine[28];  //@half_mine
#pragma unroll
  for (int i = 0; i < 28; ++i) mine[i] = x[i * 32 + threadIdx.x];  //@half_load
  int sum = 0;
#pragma unroll 1
  for (int i = 0; i < n; ++i) {
    const int place = tile.shfl(order[i * 32 + threadIdx.x], 0);
    sum = sum * 3 + mine[AT(place, 5)];  //@half_exchange
  }
  y[threadIdx.x] = sum;
}

/* labels
[[find]]
cause = "dynamic-index"
object = "kept"
type = "short[40]"
size = 80
declared = "scan_kept"
lines = ["scan_keep", "scan_read"]
primary = ["scan_keep", "scan_read"]
index = ["[AT(before % 40, 5)]", "[before % 40]"]
sources = ["memory x"]
optional = ["other %laneid", "thread-id threadIdx.x"]
uniformity = "data-dependent"
*/
extern "C" __global__ void warp_positions(const int *x, int *y, int n) {
  using Scan = cub::WarpScan<int>;
  __shared__ typename Scan::TempStorage storage;
  short kept[40];  //@scan_kept
#pragma unroll 1
  for (int i = 0; i < n; ++i) {
    int before;
    Scan(storage).ExclusiveSum(x[i * 32 + threadIdx.x] > 0, before);
    kept[AT(before % 40, 5)] = i;  //@scan_keep
  }
  int sum = 0;
#pragma unroll
  for (int i = 0; i < 40; ++i) sum = sum * 3 + kept[i];  //@scan_read
  y[threadIdx.x] = sum;
}

/* labels
[[find]]
cause = "dynamic-index"
object = "ring"
type = "cuda::std::byte[64]"
size = 64
declared = "bytes_ring"
lines = ["bytes_fill", "bytes_put", "bytes_get"]
primary = ["bytes_put", "bytes_get"]
index = ["[AT(head, 5)]", "[AT((head + 40) & 63, 9)]", "[head]", "[(head + 40) & 63]"]
sources = ["thread-id threadIdx.x"]
optional = ["loop-counter run-time"]
uniformity = "lane-varying"
*/
extern "C" __global__ void byte_ring(const unsigned char *x, int *y, int n) {
  cuda::std::byte ring[64];  //@bytes_ring
#pragma unroll
  for (int i = 0; i < 64; ++i) ring[i] = cuda::std::byte{x[i]};  //@bytes_fill
  int head = threadIdx.x & 63, sum = 0;
#pragma unroll 1
  for (int i = 0; i < n; ++i) {
    ring[AT(head, 5)] ^= cuda::std::byte{x[i]};                             //@bytes_put
    sum += cuda::std::to_integer<int>(ring[AT((head + 40) & 63, 9)]) * i;  //@bytes_get
    head = (head + 1) & 63;
  }
  y[threadIdx.x] = sum;
}

namespace selection {

template <typename Key, int K>
struct Best {
  Key keys[K];
  __device__ void insert(Key key, int at) {
    if (keys[AT(at % K, 2)] < key) keys[AT(at % K, 2)] = key;  //@best_insert
  }
};

/* labels
[[find]]
cause = "dynamic-index"
object = "best.keys"
type = "float[20]"
size = 80
declared = "best_object"
lines = ["best_clear", "best_insert", "best_write"]
primary = ["best_insert"]
index = ["[AT(at % K, 2)]", "[at % K]"]
sources = ["loop-counter run-time", "thread-id threadIdx.x"]
uniformity = "lane-varying"
instance = "strided_best<float, 20>"

[[find]]
cause = "dynamic-index"
object = "best.keys"
type = "double[36]"
size = 288
declared = "best_object"
lines = ["best_clear", "best_insert", "best_write"]
primary = ["best_insert"]
index = ["[AT(at % K, 2)]", "[at % K]"]
sources = ["loop-counter run-time", "thread-id threadIdx.x"]
uniformity = "lane-varying"
instance = "strided_best<double, 36>"
*/
template <typename Key, int K>
__global__ void strided_best(const Key *x, Key *y, unsigned n) {
  Best<Key, K> best;  //@best_object
#pragma unroll
  for (int i = 0; i < K; ++i) best.keys[i] = 0;  //@best_clear
#pragma unroll 1
  for (unsigned i = threadIdx.x; i < n; i += 32) best.insert(x[i], i);
#pragma unroll
  for (int i = 0; i < K; ++i) y[i * 32 + threadIdx.x] = best.keys[i];  //@best_write
}

}  // namespace selection

typedef float (*Operator)(float, float);
__device__ __noinline__ float added(float a, float b) { return a + b; }
__device__ __noinline__ float reduced(float a, float b) { return a - b; }
__device__ __noinline__ float multiplied(float a, float b) { return a * b; }
__device__ __noinline__ float divided(float a, float b) { return __fdividef(a, b); }

/* labels
[[find]]
cause = "const-table"
object = "operators"
type = ["const Operator[6]", "Operator[6]", "float (*[6])(float, float)", "float (*const[6])(float, float)"]
size = 48
declared = "operators_declared"
lines = ["operators_declared", "operators_call"]
primary = ["operators_call"]
index = ["[AT(codes[i], 2)]", "[codes[i]]"]
sources = ["memory codes"]
uniformity = "uniform"
*/
extern "C" __global__ void local_operators(const float *x, const int *codes, float *y, int n) {
  const Operator operators[6] = {added, reduced, multiplied, divided, reduced, added};  //@operators_declared
  float sum = 0.0f;
#pragma unroll 1
  for (int i = 0; i < n; ++i) sum = operators[AT(codes[i], 2)](sum, x[i]);  //@operators_call
  y[threadIdx.x] = sum;
}
