// Sorting, selecting, counting. Labels were proven with -DEXPERIMENT.

#ifdef EXPERIMENT
#define AT(run_time, constant) (constant)
#define ROLLED _Pragma("unroll")
#define FOR_UP_TO(i, limit, maximum) for (int i = 0; i < maximum; ++i) if (i < limit)
#else
#define AT(run_time, constant) (run_time)
#define ROLLED _Pragma("unroll 1")
#define FOR_UP_TO(i, limit, maximum) for (int i = 0; i < limit; ++i)
#endif

/* labels
[[find]]
cause = "dynamic-index"
object = "best"
type = "float[16]"
size = 64
declared = "best"
lines = ["best_clear", "best_last", "best_above", "best_shift", "best_put", "best_out"]
primary = ["best_above", "best_shift", "best_put"]
index = ["[at - 1]", "[at]", "[place]"]
sources = ["loop-counter constant", "memory scores", "memory best"]
uniformity = ["data-dependent", "uniform"]
[[find]]
cause = "dynamic-index"
object = "who"
type = "int[16]"
size = 64
declared = "who"
lines = ["who_shift", "who_put", "who_out"]
primary = ["who_shift", "who_put"]
index = ["[at - 1]", "[at]", "[place]"]
sources = ["loop-counter constant", "memory scores", "memory best"]
uniformity = ["data-dependent", "uniform"]
*/
extern "C" __global__ void top_16(const float *scores, float *values, int *ids, int n) {
  float best[16];  //@best
  int who[16];     //@who
#pragma unroll
  for (int k = 0; k < 16; ++k) best[k] = -1e30f;  //@best_clear
#pragma unroll 1
  for (int i = threadIdx.x; i < n; i += blockDim.x) {
    const float score = scores[i];
    if (score <= best[15]) continue;  //@best_last
    int at = 15;
#ifndef EXPERIMENT
#pragma unroll 1
    while (at > 0 && best[at - 1] < score) {  //@best_above
      best[at] = best[at - 1];                //@best_shift
      who[at] = who[at - 1];                  //@who_shift
      --at;
    }
#endif
    const int place = AT(at, 7);
    best[place] = score;  //@best_put
    who[place] = i;       //@who_put
  }
#pragma unroll
  for (int k = 0; k < 16; ++k) {
    values[k * blockDim.x + threadIdx.x] = best[k];  //@best_out
    ids[k * blockDim.x + threadIdx.x] = who[k];      //@who_out
  }
}

/* labels
clean = true
*/
extern "C" __global__ void top_8_predicated(const float *scores, float *values, int n) {
  float best[8];
#pragma unroll
  for (int k = 0; k < 8; ++k) best[k] = -1e30f;
  for (int i = threadIdx.x; i < n; i += blockDim.x) {
    float carried = scores[i];
#pragma unroll
    for (int k = 0; k < 8; ++k) {
      const float kept = fmaxf(best[k], carried);
      carried = fminf(best[k], carried);
      best[k] = kept;
    }
  }
#pragma unroll
  for (int k = 0; k < 8; ++k) values[k * blockDim.x + threadIdx.x] = best[k];
}

/* labels
[[find]]
cause = "rolled-loop"
object = "item"
type = "unsigned int[32]"
size = 128
declared = "item"
lines = ["item_load", "item_low", "item_high", "item_swap_low", "item_swap_high", "item_store"]
primary = ["item_fill", "item_spans", "item_distances", "item_pairs", "item_drain"]
index = ["[i]", "[partner]"]
sources = ["loop-counter constant"]
uniformity = "uniform"
*/
extern "C" __global__ void bitonic_32(const unsigned *in, unsigned *out) {
  unsigned item[32];  //@item
  ROLLED
  for (int i = 0; i < 32; ++i)                   //@item_fill
    item[i] = in[i * blockDim.x + threadIdx.x];  //@item_load
  ROLLED
  for (int p = 0; p < 5; ++p) {  //@item_spans
    ROLLED
    FOR_UP_TO(q, p + 1, 5) {  //@item_distances
      ROLLED
      for (int i = 0; i < 32; ++i) {  //@item_pairs
        const int partner = i ^ (1 << (p - q));
        if (partner > i) {
          const unsigned a = item[i];        //@item_low
          const unsigned b = item[partner];  //@item_high
          if ((a > b) == ((i & (2 << p)) == 0)) {
            item[i] = b;        //@item_swap_low
            item[partner] = a;  //@item_swap_high
          }
        }
      }
    }
  }
  ROLLED
  for (int i = 0; i < 32; ++i)                    //@item_drain
    out[i * blockDim.x + threadIdx.x] = item[i];  //@item_store
}

/* labels
[[find]]
cause = "dynamic-index"
object = "v"
type = "double[31]"
size = 248
declared = "v"
lines = ["v_load", "v_pivot", "v_up", "v_down", "v_put_left", "v_put_right", "v_answer"]
primary = ["v_pivot", "v_up", "v_down", "v_put_left", "v_put_right"]
index = ["[rank]", "[i]", "[j]"]
sources = ["parameter rank", "loop-counter run-time", "memory v"]
uniformity = ["data-dependent", "uniform"]
*/
extern "C" __global__ void quickselect(const double *x, double *y, int rank) {
  double v[31];  //@v
#pragma unroll
  for (int k = 0; k < 31; ++k) v[k] = x[k * 256 + threadIdx.x];  //@v_load
#ifdef EXPERIMENT
  y[threadIdx.x] = v[3] + v[11];
#else
  int low = 0, high = 30;
#pragma unroll 1
  while (low < high) {
    const double pivot = v[rank];  //@v_pivot
    int i = low, j = high;
#pragma unroll 1
    do {
      double left, right;
#pragma unroll 1
      while ((left = v[i]) < pivot) ++i;  //@v_up
#pragma unroll 1
      while ((right = v[j]) > pivot) --j;  //@v_down
      if (i <= j) {
        v[i] = right;  //@v_put_left
        v[j] = left;   //@v_put_right
        ++i, --j;
      }
    } while (i <= j);
    if (j < rank) low = i;
    if (i > rank) high = j;
  }
#pragma unroll
  for (int k = 0; k < 31; ++k) y[k * 256 + threadIdx.x] = v[k];  //@v_answer
#endif
}

struct Entry {
  float key;
  int id;
};

/* labels
[[find]]
cause = "dynamic-index"
object = "heap"
type = "Entry[31]"
size = 248
declared = "heap"
lines = ["heap_fill", "heap_top", "heap_choose", "heap_child", "heap_up", "heap_put", "heap_out"]
primary = ["heap_choose", "heap_child", "heap_up", "heap_put"]
index = ["[child + 1]", "[child]", "[hole]", "[settled]"]
sources = ["memory distance", "memory heap"]
optional = ["loop-counter run-time", "loop-counter constant"]
uniformity = "data-dependent"
*/
extern "C" __global__ void nearest_heap(const float *distance, int *ids, int n) {
  Entry heap[31];  //@heap
#pragma unroll
  for (int k = 0; k < 31; ++k) heap[k] = Entry{1e30f, -1};  //@heap_fill
#pragma unroll 1
  for (int i = 0; i < n; ++i) {
    const float d = distance[i * 32 + threadIdx.x];
    if (d >= heap[0].key) continue;  //@heap_top
    int hole = 0;
#ifndef EXPERIMENT
#pragma unroll 1
    while (hole < 15) {
      int child = 2 * hole + 1;
      if (heap[child + 1].key > heap[child].key) ++child;  //@heap_choose
      const Entry larger = heap[child];                    //@heap_child
      if (larger.key <= d) break;
      heap[hole] = larger;  //@heap_up
      hole = child;
    }
#endif
    const int settled = AT(hole, 4);
    heap[settled] = Entry{d, i};  //@heap_put
  }
#pragma unroll
  for (int k = 0; k < 31; ++k) ids[k * 32 + threadIdx.x] = heap[k].id;  //@heap_out
}

/* labels
[[find]]
cause = "dynamic-index"
object = "counts"
type = "unsigned char[16][4]"
size = 64
declared = "counts"
lines = ["counts_clear", "counts_add", "counts_sum"]
primary = ["counts_add"]
index = ["[digit][copy]"]
sources = ["memory keys", "parameter shift", "thread-id threadIdx.x"]
uniformity = "data-dependent"
*/
extern "C" __global__ void digits_in_copies(const unsigned *keys, int *out, int n, int shift) {
  unsigned char counts[16][4];  //@counts
#pragma unroll
  for (int d = 0; d < 16; ++d) {
#pragma unroll
    for (int c = 0; c < 4; ++c) counts[d][c] = 0;  //@counts_clear
  }
  const int copy = AT(threadIdx.x & 3, 2);
#pragma unroll 1
  for (int i = blockIdx.x; i < n; i += gridDim.x) {
    const int digit = AT((keys[i * 32 + threadIdx.x] >> shift) & 15, 7);
    counts[digit][copy]++;  //@counts_add
  }
#pragma unroll
  for (int d = 0; d < 16; ++d)
    out[d * 32 + threadIdx.x] = counts[d][0] + counts[d][1] + counts[d][2] + counts[d][3];  //@counts_sum
}

/* labels
[[find]]
cause = "dynamic-index"
object = "heads"
type = "int[20]"
size = 80
declared = "heads"
lines = ["heads_clear", "heads_scan", "heads_next"]
primary = ["heads_scan", "heads_next"]
index = ["[list]", "[take]"]
sources = ["memory lists", "loop-counter constant"]
uniformity = ["data-dependent", "uniform"]
*/
extern "C" __global__ void merge_20(const int *lists, int *out, int length) {
  int heads[20];  //@heads
#pragma unroll
  for (int list = 0; list < 20; ++list) heads[list] = list * length;  //@heads_clear
#pragma unroll 1
  for (int i = 0; i < 20 * length; ++i) {
    int least = 0x7fffffff, from = 0;
    ROLLED
    for (int list = 0; list < 20; ++list) {
      const int value = lists[heads[list] * 64 + threadIdx.x];  //@heads_scan
      if (value < least) least = value, from = list;
    }
    const int take = AT(from, 12);
    heads[take]++;  //@heads_next
    out[i * 64 + threadIdx.x] = least;
  }
}

/* labels
[[find]]
cause = "dynamic-index"
object = "stash"
type = "short[64]"
size = 128
declared = "stash"
lines = ["stash_put", "stash_get"]
primary = ["stash_put", "stash_get"]
index = ["[rank]", "[lane]"]
sources = ["memory keys", "thread-id threadIdx.x"]
uniformity = "lane-varying"
*/
extern "C" __global__ void ballot_ranks(const short *keys, short *out, int n) {
  short stash[64];  //@stash
  const int lane = AT(threadIdx.x & 31, 5);
#pragma unroll 1
  for (int i = 0; i < n; ++i) {
    const short key = keys[i * 32 + threadIdx.x];
    const unsigned negative = __ballot_sync(0xffffffffu, key < 0);
    const int rank = AT(__popc(negative & ((1u << (threadIdx.x & 31)) - 1u)), 5);
    stash[rank] = key;  //@stash_put
    out[i * 32 + threadIdx.x] = stash[lane];  //@stash_get
  }
}

/* labels
promoted = ["candidate"]
promoted_archs = ["sm_75", "sm_80", "sm_90"]
[[find]]
cause = "dynamic-index"
object = "candidate"
type = "float4[12]"
size = 192
declared = "candidate"
lines = ["candidate_first", "candidate_look", "candidate_replace", "candidate_out"]
primary = ["candidate_look", "candidate_replace"]
index = ["[k]", "[worst]"]
sources = ["loop-counter constant", "memory candidate"]
uniformity = ["data-dependent", "uniform"]
archs = ["sm_100", "sm_120"]
*/
extern "C" __global__ void nearest_12(const float4 *points, float4 *out, int n) {
  float4 candidate[12];  //@candidate
#pragma unroll
  for (int k = 0; k < 12; ++k) candidate[k] = points[k * 64 + threadIdx.x];  //@candidate_first
#pragma unroll 1
  for (int i = 12; i < n; ++i) {
    const float4 p = points[i * 64 + threadIdx.x];
    int worst = 0;
    float farthest = -1.0f;
    ROLLED
    for (int k = 0; k < 12; ++k) {
      const float4 c = candidate[k];  //@candidate_look
      const float d = c.x * c.x + c.y * c.y + c.z * c.z;
      if (d > farthest) farthest = d, worst = AT(k, 3);
    }
    if (p.x * p.x + p.y * p.y + p.z * p.z < farthest) candidate[worst] = p;  //@candidate_replace
  }
#pragma unroll
  for (int k = 0; k < 12; ++k) out[k * 64 + threadIdx.x] = candidate[k];  //@candidate_out
}

/* labels
[[find]]
cause = "dynamic-index"
object = "cumulative"
type = "float[50]"
size = 200
declared = "cumulative"
lines = ["cumulative_build", "cumulative_walk", "cumulative_low"]
primary = ["cumulative_walk", "cumulative_low"]
index = ["[k]", "[found - 1]"]
sources = ["loop-counter run-time", "memory weights", "memory uniforms", "memory cumulative"]
uniformity = ["data-dependent", "uniform"]
*/
extern "C" __global__ void weighted_pick(const float *weights, const float *uniforms, float *out) {
  float cumulative[50];  //@cumulative
  float total = 0.0f;
#pragma unroll
  for (int k = 0; k < 50; ++k) {
    total += weights[k];
    cumulative[k] = total;  //@cumulative_build
  }
  const float u = uniforms[threadIdx.x] * total;
  int k = 1;
#ifndef EXPERIMENT
#pragma unroll 1
  while (cumulative[k] < u) ++k;  //@cumulative_walk
#endif
  const int found = AT(k, 9);
  const float below = cumulative[found - 1];  //@cumulative_low
  out[threadIdx.x] = found + (u - below) / weights[found];
}

/* labels
[[find]]
cause = "rolled-loop"
object = "seen"
type = "int[24]"
size = 96
declared = "seen"
lines = ["seen_load", "seen_search"]
primary = ["seen_fill", "seen_loop"]
index = ["[k]"]
sources = ["loop-counter constant"]
uniformity = "uniform"
*/
extern "C" __global__ void linear_search(const int *ids, const int *queries, int *out, int n) {
  int seen[24];  //@seen
  ROLLED
  for (int k = 0; k < 24; ++k)                 //@seen_fill
    seen[k] = ids[k * 128 + threadIdx.x];      //@seen_load
#pragma unroll 1
  for (int q = 0; q < n; ++q) {
    int where = -1;
    ROLLED
    for (int k = 0; k < 24; ++k) {  //@seen_loop
      if (seen[k] == queries[q]) {  //@seen_search
        where = k;
        break;
      }
    }
    out[q * 128 + threadIdx.x] = where;
  }
}
