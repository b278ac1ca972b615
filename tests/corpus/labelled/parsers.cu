// Small maps, parsers and state machines, one per thread. -DEXPERIMENT takes the cause of local
// memory away from every kernel here: its frame is then 0.

#ifdef EXPERIMENT
#define AT(run_time, constant) (constant)
#define LOCAL_TABLE static const
#define ROLLED _Pragma("unroll")
#else
#define AT(run_time, constant) (run_time)
#define LOCAL_TABLE const
#define ROLLED _Pragma("unroll 1")
#endif

#define EMPTY 0xffffffffu

__device__ __forceinline__ unsigned mix(unsigned key) {
  key ^= key >> 16;
  key *= 0x7feb352du;
  key ^= key >> 15;
  key *= 0x846ca68bu;
  return key ^ (key >> 16);
}

/* labels
[[find]]
cause = "dynamic-index"
object = "keys"
type = "unsigned int[32]"
size = 128
declared = "probing_keys"
lines = ["probing_clear", "probing_probe", "probing_claim", "probing_key"]
primary = ["probing_probe", "probing_claim"]
index = ["[slot]"]
sources = ["memory words", "memory keys"]
optional = ["loop-counter run-time"]
uniformity = "data-dependent"

[[find]]
cause = "dynamic-index"
object = "counts"
type = "unsigned short[32]"
size = 64
declared = "probing_counts"
lines = ["probing_zero", "probing_count", "probing_result"]
primary = ["probing_count"]
index = ["[slot]"]
sources = ["memory words", "memory keys"]
optional = ["loop-counter run-time"]
uniformity = "data-dependent"
*/
extern "C" __global__ void linear_probing(const unsigned *words, unsigned *most, int n) {
  unsigned keys[32];           //@probing_keys
  unsigned short counts[32];   //@probing_counts
#pragma unroll
  for (int i = 0; i < 32; ++i) {
    keys[i] = EMPTY;  //@probing_clear
    counts[i] = 0;    //@probing_zero
  }
  for (int i = 0; i < n; ++i) {
    const unsigned word = words[i * blockDim.x + threadIdx.x];
    unsigned slot = AT(mix(word) & 31, 3);
    while (keys[slot] != EMPTY && keys[slot] != word)  //@probing_probe
      slot = AT((slot + 1) & 31, 3);
    keys[slot] = word;  //@probing_claim
    ++counts[slot];     //@probing_count
  }
  unsigned best = 0;
#pragma unroll
  for (int i = 0; i < 32; ++i) {
    const unsigned key = keys[i];    //@probing_key
    const unsigned seen = counts[i];  //@probing_result
    best = max(best, seen << 16 | (key & 0xffff));
  }
  most[threadIdx.x] = best;
}

struct Entry {
  unsigned key;
  unsigned value;
};

/* labels
[[find]]
cause = "dynamic-index"
object = "nests"
type = "Entry[2][16]"
size = 256
declared = "cuckoo_nests"
lines = ["cuckoo_clear", "cuckoo_evict", "cuckoo_move_in", "cuckoo_sum"]
primary = ["cuckoo_evict", "cuckoo_move_in"]
index = ["[which][at]"]
sources = ["memory keys", "memory nests"]
optional = ["loop-counter constant"]
uniformity = "data-dependent"
*/
extern "C" __global__ void cuckoo(const unsigned *keys, unsigned *sums, int n) {
  Entry nests[2][16];  //@cuckoo_nests
#pragma unroll
  for (int i = 0; i < 32; ++i) nests[i / 16][i % 16] = {0, 0};  //@cuckoo_clear
  for (int i = 0; i < n; ++i) {
    Entry guest = {keys[i * 32 + threadIdx.x], (unsigned)i};
    int which = 0;
#pragma unroll 1
    for (int kick = 0; kick < 8 && guest.key; ++kick) {
      const unsigned at = AT((guest.key * (which ? 0x9e3779b1u : 0x85ebca6bu)) >> 28, 3);
      const Entry evicted = nests[which][at];  //@cuckoo_evict
      nests[which][at] = guest;                //@cuckoo_move_in
      guest = evicted;
      which = AT(which ^ 1, 0);
    }
  }
  unsigned sum = 0;
#pragma unroll
  for (int i = 0; i < 32; ++i) sum += nests[i / 16][i % 16].value;  //@cuckoo_sum
  sums[threadIdx.x] = sum;
}

/* labels
[[find]]
cause = "dynamic-index"
object = "order"
type = "unsigned char[64]"
size = 64
declared = "front_order"
lines = ["front_start", "front_search", "front_shift", "front_first"]
primary = ["front_search", "front_shift"]
index = ["[AT(at, 5)]", "[AT(at - 1, 4)]", "[at]", "[at - 1]"]
sources = ["loop-counter run-time", "memory text", "memory order"]
uniformity = "data-dependent"
*/
extern "C" __global__ void move_to_front(const unsigned char *text, unsigned char *codes, int n) {
  unsigned char order[64];  //@front_order
#pragma unroll
  for (int i = 0; i < 64; ++i) order[i] = i;  //@front_start
  for (int i = 0; i < n; ++i) {
    const unsigned char symbol = text[i * blockDim.x + threadIdx.x] & 63;
    int at = 0;
    while (order[AT(at, 5)] != symbol) ++at;  //@front_search
    codes[i * blockDim.x + threadIdx.x] = at;
    for (; at > 0; --at) order[AT(at, 5)] = order[AT(at - 1, 4)];  //@front_shift
    order[0] = symbol;                                             //@front_first
  }
}

/* labels
[[find]]
cause = "const-table"
object = "moves"
type = ["const unsigned char[6][5]", "unsigned char[6][5]"]
size = 30
declared = "scanner_moves"
lines = ["scanner_moves", "scanner_step"]
primary = ["scanner_step"]
index = ["[state][kind]"]
sources = ["memory text", "memory moves"]
uniformity = "data-dependent"
*/
extern "C" __global__ void number_scanner(const char *text, int *accepted, int n) {
  LOCAL_TABLE unsigned char moves[6][5] = {{1, 2, 3, 5, 5}, {5, 2, 3, 5, 5}, {5, 2, 3, 4, 0}, {5, 3, 5, 4, 0}, {1, 4, 5, 5, 0}, {5, 5, 5, 5, 5}};  //@scanner_moves
  int state = 0, numbers = 0;
#pragma unroll 1
  for (int i = 0; i < n; ++i) {
    const char c = text[i * blockDim.x + threadIdx.x];
    const int kind = c == '-' ? 0 : c >= '0' && c <= '9' ? 1 : c == '.' ? 2 : c == 'e' ? 3 : 4;
    const int before = state;
    state = moves[state][kind];  //@scanner_step
    numbers += before && !state;
  }
  accepted[threadIdx.x] = numbers;
}

/* labels
clean = true
*/
extern "C" __global__ void static_scanner(const char *text, int *accepted, int n) {
  static const unsigned char moves[4][4] = {{1, 0, 2, 3}, {1, 2, 2, 3}, {0, 2, 1, 3}, {3, 3, 3, 0}};
  int state = 0;
  for (int i = 0; i < n; ++i) state = moves[state][text[i * blockDim.x + threadIdx.x] & 3];
  accepted[threadIdx.x] = state;
}

/* labels
[[find]]
cause = "dynamic-index"
object = "open"
type = "char[48]"
size = 48
declared = "brackets_open"
lines = ["brackets_push", "brackets_top"]
primary = ["brackets_push", "brackets_top"]
index = ["[AT(depth++, 7)]", "[AT(depth - 1, 7)]", "[depth++]", "[depth - 1]"]
sources = ["memory text", "memory open"]
optional = ["loop-counter run-time"]
uniformity = "data-dependent"
*/
extern "C" __global__ void brackets(const char *text, int *errors, int n) {
  char open[48];  //@brackets_open
  int depth = 0, wrong = 0;
  for (int i = 0; i < n; ++i) {
    const char c = text[threadIdx.x * n + i];
    if (c == '(' || c == '[' || c == '{') {
      if (depth < 48) open[AT(depth++, 7)] = c;  //@brackets_push
    } else if (c == ')' || c == ']' || c == '}') {
      if (depth > 0 && open[AT(depth - 1, 7)] + (c == ')' ? 1 : 2) == c)  //@brackets_top
        --depth;
      else
        ++wrong;
    }
  }
  errors[threadIdx.x] = wrong + depth;
}

/* labels
[[find]]
cause = "dynamic-index"
object = "digits"
type = "unsigned char[40]"
size = 40
declared = "digits_digits"
lines = ["digits_keep", "digits_use"]
primary = ["digits_keep", "digits_use"]
index = ["[AT(count, 2)]", "[AT(i, 2)]", "[count]", "[i]"]
sources = ["loop-counter run-time"]
uniformity = "uniform"
*/
extern "C" __global__ void digits_of(const char *text, float *values, int width) {
  unsigned char digits[40];  //@digits_digits
  const char *mine = text + threadIdx.x * width;
  int count = 0;
#pragma unroll 1
  while (count < width && mine[count] >= '0' && mine[count] <= '9') {
    digits[AT(count, 2)] = mine[count] - '0';  //@digits_keep
    ++count;
  }
  float value = 0.0f;
#pragma unroll 1
  for (int i = 0; i < count; ++i) value = value / 10.0f + digits[AT(i, 2)];  //@digits_use
  values[threadIdx.x] = value;
}

/* labels
[[find]]
cause = "dynamic-index"
object = "offsets"
type = "unsigned short[16]"
size = 32
declared = "canonical_offsets"
lines = ["canonical_offset", "canonical_place"]
primary = ["canonical_place"]
index = ["[length]"]
sources = ["memory lengths"]
uniformity = "uniform"

[[find]]
cause = "dynamic-index"
object = "lengths_seen"
type = "unsigned short[16]"
size = 32
declared = "canonical_seen"
lines = ["canonical_zero", "canonical_count", "canonical_sum"]
primary = ["canonical_count"]
index = ["[AT(lengths[i] & 15, 4)]", "[lengths[i] & 15]"]
sources = ["memory lengths"]
uniformity = "uniform"
*/
extern "C" __global__ void canonical_code(const unsigned char *lengths, unsigned short *symbols,
                                          int n) {
  unsigned short lengths_seen[16], offsets[16];  //@canonical_seen //@canonical_offsets
#pragma unroll
  for (int i = 0; i < 16; ++i) lengths_seen[i] = 0;                    //@canonical_zero
  for (int i = 0; i < n; ++i) ++lengths_seen[AT(lengths[i] & 15, 4)];  //@canonical_count
  unsigned short place = blockIdx.x * n;
#pragma unroll
  for (int i = 1; i < 16; ++i) {
    offsets[i] = place;        //@canonical_offset
    place += lengths_seen[i];  //@canonical_sum
  }
  for (int i = 0; i < n; ++i) {
    const int length = AT(lengths[i] & 15, 4);
    if (length) symbols[offsets[length]++] = i;  //@canonical_place
  }
}

/* labels
[[find]]
cause = "dynamic-index"
object = "visited"
type = "unsigned int[16]"
size = 64
declared = "walk_visited"
lines = ["walk_visited", "walk_test", "walk_set", "walk_count"]
primary = ["walk_test", "walk_set"]
index = ["[AT(node >> 5, 3)]", "[node >> 5]"]
sources = ["thread-id threadIdx.x", "memory edges"]
optional = ["memory visited", "loop-counter run-time"]
uniformity = "data-dependent"
*/
extern "C" __global__ void random_walk(const unsigned short *edges, int *reached, int steps) {
  unsigned visited[16] = {};  //@walk_visited
  unsigned node = threadIdx.x & 511;
#pragma unroll 1
  for (int i = 0; i < steps; ++i) {
    const unsigned bit = 1u << (node & 31);
    const bool again = visited[AT(node >> 5, 3)] & bit;  //@walk_test
    visited[AT(node >> 5, 3)] |= bit;                    //@walk_set
    node = edges[node * 4 + (again ? i & 3 : 0)] & 511;
  }
  int count = 0;
#pragma unroll
  for (int i = 0; i < 16; ++i) count += __popc(visited[i]);  //@walk_count
  reached[threadIdx.x] = count;
}

/* labels
promoted = ["tags", "ages"]
*/
extern "C" __global__ void least_recently_used(const int *addresses, int *misses, int n) {
  int tags[12];
  int ages[12];
#pragma unroll
  for (int i = 0; i < 12; ++i) {
    tags[i] = -1;
    ages[i] = i;
  }
  int missed = 0;
#pragma unroll 1
  for (int k = 0; k < n; ++k) {
    const int tag = addresses[k * blockDim.x + threadIdx.x] >> 6;
    int victim = 0, oldest = -1;
    bool hit = false;
#pragma unroll
    for (int i = 0; i < 12; ++i) {
      const int age = ++ages[i];
      if (tags[i] == tag) {
        victim = AT(i, 7);
        hit = true;
      }
      if (!hit && age > oldest) {
        victim = AT(i, 7);
        oldest = age;
      }
    }
    missed += !hit;
    tags[AT(victim, 7)] = tag;
    ages[AT(victim, 7)] = 0;
  }
  misses[threadIdx.x] = missed;
}

/* labels
[[find]]
cause = "rolled-loop"
object = "row"
type = "int[33]"
size = 132
declared = "edit_row"
lines = ["edit_first", "edit_above", "edit_next", "edit_last"]
primary = ["edit_loop"]
index = ["[j]"]
sources = ["loop-counter constant"]
uniformity = "uniform"
*/
extern "C" __global__ void edit_distance(const char *texts, const char *pattern, int *distances,
                                         int n) {
  int row[33];  //@edit_row
#pragma unroll
  for (int j = 0; j <= 32; ++j) row[j] = j;  //@edit_first
  for (int i = 0; i < n; ++i) {
    const char c = texts[i * blockDim.x + threadIdx.x];
    int diagonal = i, left = i + 1;
    ROLLED
    for (int j = 1; j <= 32; ++j) {  //@edit_loop
      const int above = row[j];      //@edit_above
      left = min(min(above, left) + 1, diagonal + (pattern[j] != c));
      diagonal = above;
      row[j] = left;  //@edit_next
    }
  }
  distances[threadIdx.x] = row[32];  //@edit_last
}
