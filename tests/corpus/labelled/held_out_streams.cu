// Text, codes, queues, machines, small sorts: held out, labelled before any scan.

#ifdef EXPERIMENT
#define AT(run_time, constant) (constant)
#define ROLLED _Pragma("unroll")
#else
#define AT(run_time, constant) (run_time)
#define ROLLED _Pragma("unroll 1")
#endif

/* labels
[[find]]
cause = "const-table"
object = "alphabet"
type = "const char[65]"
size = 65
declared = "alphabet"
lines = ["alphabet", "alphabet_use"]
primary = ["alphabet_use"]
index = ["[six]"]
sources = ["memory bytes"]
optional = ["loop-counter constant"]
uniformity = "data-dependent"
*/
extern "C" __global__ void base64_encode(const unsigned char *__restrict__ bytes, char *__restrict__ text, int triples) {
  const int id = blockIdx.x * blockDim.x + threadIdx.x;
  if (id >= triples) return;
  const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";  //@alphabet
  const unsigned word = bytes[3 * id] << 16 | bytes[3 * id + 1] << 8 | bytes[3 * id + 2];
#pragma unroll
  for (int c = 0; c < 4; ++c) {
    const unsigned six = AT(word >> (18 - 6 * c) & 63, 11 * c);
    text[4 * id + c] = alphabet[six];  //@alphabet_use
  }
}

/* labels
[[find]]
cause = "dynamic-index"
object = "fail"
type = "int[32]"
size = 128
declared = "fail"
lines = ["fail_zero", "fail_back", "fail_set", "fail_scan", "fail_again"]
primary = ["fail_back", "fail_set", "fail_scan", "fail_again"]
index = ["[k - 1]", "[q]", "[state - 1]", "[length - 1]"]
sources = ["loop-counter run-time", "memory fail", "memory pattern", "memory text", "parameter length"]
uniformity = ["data-dependent", "uniform"]
*/
extern "C" __global__ void kmp_count(const char *__restrict__ pattern, int length, const char *__restrict__ text,
                                     int *__restrict__ counts, int n) {
  int fail[32];  //@fail
  fail[0] = 0;   //@fail_zero
#ifndef EXPERIMENT
  int k = 0;
#pragma unroll 1
  for (int q = 1; q < length; ++q) {
    while (k > 0 && pattern[k] != pattern[q]) k = fail[k - 1];  //@fail_back
    if (pattern[k] == pattern[q]) ++k;
    fail[q] = k;  //@fail_set
  }
#endif
  const char *mine = text + (blockIdx.x * blockDim.x + threadIdx.x) * n;
  int state = 0, count = 0;
#pragma unroll 1
  for (int i = 0; i < n; ++i) {
#ifndef EXPERIMENT
    while (state > 0 && pattern[state] != mine[i]) state = fail[state - 1];  //@fail_scan
#endif
    if (pattern[state] == mine[i]) ++state;
    if (state == length) {
      ++count;
      state = fail[AT(length - 1, 0)];  //@fail_again
    }
  }
  counts[blockIdx.x * blockDim.x + threadIdx.x] = count;
}

/* labels
[[find]]
cause = "rolled-loop"
object = "row"
type = "unsigned char[33]"
size = 33
declared = "row"
lines = ["row_start", "row_up", "row_set", "row_end"]
primary = ["row_starting", "row_step"]
index = ["[j]"]
sources = ["loop-counter constant"]
uniformity = "uniform"
*/
extern "C" __global__ void edit_distance(const char *__restrict__ word, const char *__restrict__ dictionary,
                                         int *__restrict__ distances, int length) {
  unsigned char row[33];  //@row
  ROLLED
  for (int j = 0; j <= 32; ++j)  //@row_starting
    row[j] = j;                  //@row_start
  const char *other = dictionary + (blockIdx.x * blockDim.x + threadIdx.x) * 32;
#pragma unroll 1
  for (int i = 0; i < length; ++i) {
    const char letter = word[i];
    int diagonal = i, left = i + 1;
    ROLLED
    for (int j = 1; j <= 32; ++j) {  //@row_step
      const int up = row[j];         //@row_up
      left = min(min(up, left) + 1, diagonal + (other[j - 1] != letter));
      diagonal = up;
      row[j] = left;  //@row_set
    }
  }
  distances[blockIdx.x * blockDim.x + threadIdx.x] = row[32];  //@row_end
}

/* labels
[[find]]
cause = "const-table"
object = "next"
type = "const unsigned char[6][4]"
size = 24
declared = "next"
lines = ["next", "next_step"]
primary = ["next_step"]
index = ["[state][kind]"]
sources = ["memory next", "memory text"]
uniformity = "data-dependent"
*/
extern "C" __global__ void count_numbers(const char *text, int *counts, int n) {
  const unsigned char next[6][4] = {{1, 2, 3, 0}, {1, 2, 4, 0}, {2, 4, 4, 0}, {1, 2, 4, 0}, {4, 4, 4, 0}, {0, 0, 0, 0}};  //@next
  const int id = blockIdx.x * blockDim.x + threadIdx.x;
  int state = 0, numbers = 0;
#pragma unroll 1
  for (int i = 0; i < n; ++i) {
    const char c = text[i * gridDim.x * blockDim.x + id];
    const int kind = c >= '0' && c <= '9' ? 0 : c == '.' ? 1 : c == '-' ? 2 : 3;
#ifdef EXPERIMENT
    const int to = next[0][2] + kind;
#else
    const int to = next[state][kind];  //@next_step
#endif
    if (to == 0 && (state == 1 || state == 2)) ++numbers;
    state = to;
  }
  counts[id] = numbers;
}

/* labels
[[find]]
cause = "dynamic-index"
object = "s"
type = "unsigned long long[16]"
size = 128
declared = "xs"
lines = ["xs_seed", "xs_second", "xs_put"]
primary = ["xs_second", "xs_put"]
index = ["[p]"]
sources = ["loop-counter run-time"]
uniformity = "uniform"
*/
extern "C" __global__ void xorshift1024_walk(const unsigned long long *__restrict__ seeds, float *__restrict__ ends, int steps) {
  unsigned long long s[16];  //@xs
  const int id = blockIdx.x * blockDim.x + threadIdx.x;
#pragma unroll
  for (int k = 0; k < 16; ++k) s[k] = seeds[k * 4096 + id];  //@xs_seed
  float x = 0.0f;
#ifndef EXPERIMENT
  int p = 0;
#else
  const int p = 3;
#endif
#pragma unroll 1
  for (int i = 0; i < steps; ++i) {
    const unsigned long long s0 = s[p];
#ifndef EXPERIMENT
    p = (p + 1) & 15;
#endif
    unsigned long long s1 = s[p];  //@xs_second
    s1 ^= s1 << 31;
    s1 = s1 ^ s0 ^ (s1 >> 11) ^ (s0 >> 30);
    s[p] = s1;  //@xs_put
    x += (s1 * 1181783497276652981ULL) >> 63 ? 1.0f : -1.0f;
  }
  ends[id] = x;
}

/* labels
[[find]]
cause = "dynamic-index"
object = "heap"
type = "float[31]"
size = 124
declared = "heap"
lines = ["heap_fill", "heap_top", "heap_pick", "heap_stop", "heap_up", "heap_put", "heap_out"]
primary = ["heap_pick", "heap_stop", "heap_up", "heap_put"]
index = ["[child + 1]", "[child]", "[hole]"]
sources = ["loop-counter constant", "memory heap", "memory keys"]
uniformity = "data-dependent"
*/
extern "C" __global__ void largest_31(const float *__restrict__ keys, float *__restrict__ least, int n) {
  float heap[31];  //@heap
#pragma unroll
  for (int k = 0; k < 31; ++k) heap[k] = -3.0e38f;  //@heap_fill
  const float *mine = keys + (blockIdx.x * blockDim.x + threadIdx.x) * n;
#pragma unroll 1
  for (int i = 0; i < n; ++i) {
    const float key = mine[i];
    if (key <= heap[0]) continue;  //@heap_top
    int hole = 0;
#ifndef EXPERIMENT
#pragma unroll 1
    for (int level = 0; level < 4; ++level) {
      int child = 2 * hole + 1;
      if (heap[child + 1] < heap[child]) ++child;  //@heap_pick
      if (heap[child] >= key) break;               //@heap_stop
      heap[hole] = heap[child];                    //@heap_up
      hole = child;
    }
#endif
    heap[hole] = key;  //@heap_put
  }
  least[blockIdx.x * blockDim.x + threadIdx.x] = heap[0];  //@heap_out
}

/* labels
[[find]]
cause = "dynamic-index"
object = "bins"
type = "unsigned short[64]"
size = 128
declared = "bins"
lines = ["bins_zero", "bins_count", "bins_add"]
primary = ["bins_count"]
index = ["[image[i] >> 2]"]
sources = ["memory image"]
uniformity = "data-dependent"
*/
extern "C" __global__ void private_histogram(const unsigned char *__restrict__ image, unsigned *__restrict__ total, int pixels) {
  unsigned short bins[64];  //@bins
#pragma unroll
  for (int b = 0; b < 64; ++b) bins[b] = 0;  //@bins_zero
#pragma unroll 1
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < pixels; i += gridDim.x * blockDim.x) {
#ifdef EXPERIMENT
    bins[5] += image[i];
#else
    ++bins[image[i] >> 2];  //@bins_count
#endif
  }
#pragma unroll
  for (int b = 0; b < 64; ++b) atomicAdd(total + b, bins[b]);  //@bins_add
}

/* labels
[[find]]
cause = "dynamic-index"
object = "v"
type = "short[24]"
size = 48
declared = "v"
lines = ["v_load", "v_take", "v_test", "v_move", "v_put", "v_out"]
primary = ["v_take", "v_test", "v_move", "v_put"]
index = ["[i]", "[j - gap]", "[j]"]
sources = ["loop-counter constant", "memory v"]
optional = ["memory from"]
uniformity = ["data-dependent", "uniform"]
*/
extern "C" __global__ void shell_sort(const short *__restrict__ from, short *__restrict__ to) {
  short v[24];  //@v
  const int id = blockIdx.x * blockDim.x + threadIdx.x;
#pragma unroll
  for (int k = 0; k < 24; ++k) v[k] = from[k * 1024 + id];  //@v_load
#ifndef EXPERIMENT
#pragma unroll 1
  for (int gap = 9; gap > 0; gap /= 3) {
#pragma unroll 1
    for (int i = gap; i < 24; ++i) {
      const short held = v[i];  //@v_take
      int j = i;
#pragma unroll 1
      while (j >= gap && v[j - gap] > held) {  //@v_test
        v[j] = v[j - gap];                     //@v_move
        j -= gap;
      }
      v[j] = held;  //@v_put
    }
  }
#endif
#pragma unroll
  for (int k = 0; k < 24; ++k) to[k * 1024 + id] = v[k];  //@v_out
}

/* labels
[[find]]
cause = "dynamic-index"
object = "composite"
type = "unsigned int[16]"
size = 64
declared = "composite"
lines = ["composite", "composite_test", "composite_mark", "composite_count"]
primary = ["composite_test", "composite_mark"]
index = ["[p >> 5]", "[m >> 5]"]
sources = ["loop-counter run-time"]
uniformity = "uniform"
*/
extern "C" __global__ void sieve_512(unsigned *__restrict__ found, const unsigned *__restrict__ known, int limit) {
  unsigned composite[16] = {3u};  //@composite
#ifndef EXPERIMENT
#pragma unroll 1
  for (int p = 2; p * p < limit; ++p) {
    if (composite[p >> 5] >> (p & 31) & 1) continue;                              //@composite_test
#pragma unroll 1
    for (int m = p * p; m < limit; m += p) composite[m >> 5] |= 1u << (m & 31);  //@composite_mark
  }
#endif
  unsigned count = 0;
#pragma unroll
  for (int w = 0; w < 16; ++w) count += __popc(~composite[w] & known[w * 32 + threadIdx.x]);  //@composite_count
  found[blockIdx.x * blockDim.x + threadIdx.x] = count;
}

/* labels
[[find]]
cause = "dynamic-index"
object = "open"
type = "unsigned int[20]"
size = 80
declared = "open"
lines = ["open_first", "open_take", "open_less", "open_push"]
primary = ["open_take", "open_less", "open_push"]
index = ["[depth]"]
sources = ["memory open", "parameter n"]
optional = ["thread-id threadIdx.x"]
uniformity = ["lane-varying", "data-dependent"]
[[find]]
cause = "dynamic-index"
object = "used"
type = "uint3[20]"
size = 240
declared = "used"
lines = ["used_first", "used_take", "used_push"]
primary = ["used_take", "used_push"]
index = ["[depth]"]
sources = ["memory open", "parameter n"]
optional = ["thread-id threadIdx.x"]
uniformity = ["lane-varying", "data-dependent"]
*/
extern "C" __global__ void queens(int *__restrict__ solutions, int n) {
  unsigned open[20];  //@open
  uint3 used[20];     //@used
  const unsigned all = (1u << n) - 1;
  const unsigned start = 1u << (threadIdx.x % n);
  int depth = 0, solved = 0;
  used[0] = make_uint3(start, start << 1, start >> 1);      //@used_first
  open[0] = all & ~(start | start << 1 | start >> 1);       //@open_first
#ifndef EXPERIMENT
#pragma unroll 1
  while (depth >= 0) {
    const unsigned left = open[depth];  //@open_take
    if (left == 0) {
      --depth;
      continue;
    }
    const unsigned queen = left & (0u - left);
    open[depth] = left ^ queen;     //@open_less
    const uint3 u = used[depth];    //@used_take
    if (depth == n - 2) {
      ++solved;
      continue;
    }
    ++depth;
    used[depth] = make_uint3(u.x | queen, (u.y | queen) << 1, (u.z | queen) >> 1);                                 //@used_push
    open[depth] = all & ~((u.x | queen) | (u.y | queen) << 1 | (u.z | queen) >> 1);  //@open_push
  }
#else
  solved = open[depth] + used[depth].x;
#endif
  solutions[blockIdx.x * blockDim.x + threadIdx.x] = solved;
}

enum Opcode { PUSH_X, PUSH_CONSTANT, ADD, MULTIPLY, SWAP };

struct Instruction {
  Opcode code;
  float value;
};

/* labels
[[find]]
cause = "dynamic-index"
object = "stack"
type = "float[12]"
size = 48
declared = "stack"
lines = ["stack_x", "stack_constant", "stack_add", "stack_multiply", "stack_swap_load", "stack_swap_below", "stack_swap_top", "stack_result"]
primary = ["stack_x", "stack_constant", "stack_add", "stack_multiply", "stack_swap_load", "stack_swap_below", "stack_swap_top", "stack_result"]
index = ["[top++]", "[top]", "[top - 1]", "[top - 2]"]
sources = ["memory program", "parameter length", "loop-counter run-time"]
uniformity = "uniform"
*/
extern "C" __global__ void calculator(const Instruction *__restrict__ program, int length, const float *__restrict__ x,
                                      float *__restrict__ y) {
  float stack[12];  //@stack
  const float mine = x[blockIdx.x * blockDim.x + threadIdx.x];
#ifdef EXPERIMENT
  stack[0] = mine * program[length].value;
  y[blockIdx.x * blockDim.x + threadIdx.x] = stack[0];
#else
  int top = 0;
#pragma unroll 1
  for (int pc = 0; pc < length; ++pc) {
    const Instruction in = program[pc];
    switch (in.code) {
      case PUSH_X:
        stack[top++] = mine;  //@stack_x
        break;
      case PUSH_CONSTANT:
        stack[top++] = in.value;  //@stack_constant
        break;
      case ADD:
        --top;
        stack[top - 1] += stack[top];  //@stack_add
        break;
      case MULTIPLY:
        --top;
        stack[top - 1] *= stack[top];  //@stack_multiply
        break;
      default: {
        const float above = stack[top - 1];   //@stack_swap_load
        stack[top - 1] = stack[top - 2];      //@stack_swap_below
        stack[top - 2] = above;               //@stack_swap_top
      }
    }
  }
  y[blockIdx.x * blockDim.x + threadIdx.x] = stack[top - 1];  //@stack_result
#endif
}

/* labels
[[find]]
cause = "dynamic-index"
object = "digits"
type = "char[12]"
size = 12
declared = "digits"
lines = ["digits_put", "digits_copy"]
primary = ["digits_put", "digits_copy"]
index = ["[--at]", "[at]", "[at++]"]
sources = ["loop-counter run-time", "memory values"]
uniformity = ["data-dependent", "uniform"]
*/
extern "C" __global__ void print_unsigned(const unsigned *__restrict__ values, char *__restrict__ text) {
  char digits[12];  //@digits
  const int id = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned v = values[id];
  char *to = text + 12 * id;
#ifdef EXPERIMENT
  digits[4] = '0' + v % 10;
  *to = digits[4];
#else
  int at = 12;
#pragma unroll 1
  do {
    digits[--at] = '0' + v % 10;  //@digits_put
    v /= 10;
  } while (v != 0);
#pragma unroll 1
  while (at < 12) *to++ = digits[at++];  //@digits_copy
#endif
}

union Bits {
  float f;
  unsigned u;
};

/* labels
promoted = ["sorted"]
*/
extern "C" __global__ void rank_sort_floats(const float *__restrict__ from, float *__restrict__ to) {
  Bits keys[16], sorted[16];  //@sorted
  const int id = blockIdx.x * blockDim.x + threadIdx.x;
#pragma unroll
  for (int k = 0; k < 16; ++k) {
    keys[k].f = from[k * 512 + id];
    keys[k].u ^= (unsigned)((int)keys[k].u >> 31) | 0x80000000u;
  }
#pragma unroll
  for (int k = 0; k < 16; ++k) {
    int rank = 0;
#pragma unroll
    for (int other = 0; other < 16; ++other)
      rank += keys[other].u < keys[k].u || (keys[other].u == keys[k].u && other < k);
    rank = AT(rank, 15 - k);
    sorted[rank].u = keys[k].u;  //@sorted_put
  }
#pragma unroll
  for (int k = 0; k < 16; ++k) {
    Bits back = sorted[k];  //@sorted_out
    back.u ^= back.u >> 31 ? 0x80000000u : 0xffffffffu;
    to[k * 512 + id] = back.f;
  }
}

/* labels
[[find]]
cause = "dynamic-index"
object = "items"
type = "float[48]"
size = 192
declared = "ring"
lines = ["ring_clear", "ring_old", "ring_new"]
primary = ["ring_old", "ring_new"]
index = ["[head]"]
sources = ["loop-counter run-time"]
uniformity = "uniform"
instance = "moving_sum<float, 48>"
[[find]]
cause = "dynamic-index"
object = "items"
type = "double[20]"
size = 160
declared = "ring"
lines = ["ring_clear", "ring_old", "ring_new"]
primary = ["ring_old", "ring_new"]
index = ["[head]"]
sources = ["loop-counter run-time"]
uniformity = "uniform"
instance = "moving_sum<double, 20>"
*/
template <typename T, int N>
__global__ void moving_sum(const T *__restrict__ in, T *__restrict__ out, int n) {
  T items[N];  //@ring
#pragma unroll
  for (int k = 0; k < N; ++k) items[k] = T(0);  //@ring_clear
  int head = 0;
  T sum = T(0);
  const int id = blockIdx.x * blockDim.x + threadIdx.x;
#pragma unroll 1
  for (int i = 0; i < n; ++i) {
    const T fresh = in[i * gridDim.x * blockDim.x + id];
    sum += fresh - items[head];  //@ring_old
    items[head] = fresh;         //@ring_new
#ifndef EXPERIMENT
    if (++head == N) head = 0;
#endif
    out[i * gridDim.x * blockDim.x + id] = sum;
  }
}

template __global__ void moving_sum<float, 48>(const float *, float *, int);
template __global__ void moving_sum<double, 20>(const double *, double *, int);

/* labels
[[find]]
cause = "dynamic-index"
object = "slot"
type = "int[40]"
size = 160
declared = "slot"
lines = ["slot_load", "slot_use"]
primary = ["slot_use"]
index = ["[place]"]
sources = ["memory flags", "thread-id threadIdx.x"]
uniformity = "lane-varying"
*/
extern "C" __global__ void compacted_place(const int *__restrict__ offsets, const int *__restrict__ flags, int *__restrict__ out, int rounds) {
  int slot[40];  //@slot
  const int id = blockIdx.x * blockDim.x + threadIdx.x;
#pragma unroll
  for (int k = 0; k < 40; ++k) slot[k] = offsets[k * 256 + id];  //@slot_load
  int sum = 0;
#pragma unroll 1
  for (int i = 0; i < rounds; ++i) {
    const unsigned votes = __ballot_sync(0xffffffffu, flags[i * 256 + id] > 0);
    const unsigned below = (1u << (threadIdx.x & 31)) - 1;
    const int place = AT(__popc(votes & below), 6);
    sum += slot[place] * i;  //@slot_use
  }
  out[id] = sum;
}

/* labels
[[find]]
cause = "dynamic-index"
object = "mine"
type = "double[33]"
size = 264
declared = "leader"
lines = ["leader_load", "leader_use"]
primary = ["leader_use"]
index = ["[__ffs(votes)]"]
sources = ["memory flags"]
uniformity = "uniform"
*/
extern "C" __global__ void leader_value(const double *__restrict__ values, const int *__restrict__ flags, double *__restrict__ out) {
  double mine[33];  //@leader
  const int id = blockIdx.x * blockDim.x + threadIdx.x;
#pragma unroll
  for (int k = 0; k < 33; ++k) mine[k] = values[k * 256 + id];  //@leader_load
  const unsigned votes = __ballot_sync(0xffffffffu, flags[id] > 0);
#ifdef EXPERIMENT
  out[id] = mine[3] + votes;
#else
  out[id] = mine[__ffs(votes)];  //@leader_use
#endif
}

/* labels
promoted = ["delay"]
*/
extern "C" __global__ void one_tap(const int *__restrict__ samples, int spread, int *__restrict__ out) {
  int delay[40];  //@delay
  const int id = blockIdx.x * blockDim.x + threadIdx.x;
#pragma unroll
  for (int k = 0; k < 40; ++k) delay[k] = samples[k * 256 + id];  //@delay_load
  const int taps = AT(threadIdx.x * spread & 31, 12);
  out[id] = delay[taps];  //@delay_use
}
