// Labels: tests/labels.py says what they mean. What is easily taken for something else.

#ifndef EXPERIMENT
#define AT(run_time, constant) (run_time)
#define ROLLED _Pragma("unroll 1")
#define NOINLINE __noinline__
#else
#define AT(run_time, constant) (constant)
#define ROLLED _Pragma("unroll")
#define NOINLINE __forceinline__
#endif

/* labels
[[find]]
cause = "dynamic-index"
object = "queue"
type = "int[40]"
size = 160
declared = "queue"
lines = ["first", "take", "put", "out"]
primary = ["take", "put", "out"]
index = ["[AT(head++, (head++, 0))]", "[head++]", "[AT(tail++, (tail++, 0))]", "[tail++]", "[AT(tail / 2, 0)]", "[tail / 2]"]
sources = ["memory edges", "parameter n"]
uniformity = "data-dependent"
optional = ["loop-counter run-time", "loop-counter constant"]
*/
extern "C" __global__ void breadth_first(const int *edges, int *out, int n) {
  int queue[40];  //@queue
  int head = 0, tail = 0;
  queue[tail++] = threadIdx.x;  //@first
#pragma unroll 1
  while (head < tail && tail < 39) {
    int node = queue[AT(head++, (head++, 0))];  //@take
    for (int e = 0; e < 3; ++e)
      if (edges[node * 3 + e] > n && tail < 40) queue[AT(tail++, (tail++, 0))] = edges[node * 3 + e];  //@put
  }
  out[threadIdx.x] = queue[AT(tail / 2, 0)] + tail;  //@out
}

/* labels
[[find]]
cause = "dynamic-index"
object = "held"
type = "float[33]"
size = 132
declared = "held"
lines = ["fill", "send", "change", "read"]
primary = ["send", "change"]
index = ["[AT(i % 33, 3)]", "[i % 33]", "[AT(from & 31, 5)]", "[from & 31]"]
sources = ["memory held", "loop-counter run-time"]
uniformity = "data-dependent"
*/
extern "C" __global__ void shuffled(const float *x, float *y, int n) {
  float held[33];  //@held
  for (int i = 0; i < 33; ++i) held[i] = x[i * 32 + threadIdx.x];  //@fill
#pragma unroll 1
  for (int i = 0; i < n; ++i) {
    int from = __shfl_xor_sync(0xffffffffu, (int)held[AT(i % 33, 3)], 1);  //@send
    held[AT(from & 31, 5)] += 1.0f;  //@change
  }
  for (int i = 0; i < 33; ++i) y[i * 32 + threadIdx.x] = held[i];  //@read
}

union Word {
  float numbers[24];
  unsigned bits[24];
};

/* labels
[[find]]
cause = "dynamic-index"
object = "word.numbers"
type = "float[24]"
size = 96
declared = "word"
lines = ["fill", "scale", "read"]
primary = ["scale"]
index = ["[AT((i * n) % 24, 3)]", "[(i * n) % 24]"]
sources = ["parameter n", "loop-counter run-time"]
uniformity = "uniform"
*/
extern "C" __global__ void punned(const float *x, unsigned *y, int n) {
  Word word;  //@word
  for (int i = 0; i < 24; ++i) word.numbers[i] = x[i];  //@fill
#pragma unroll 1
  for (int i = 0; i < n; ++i) word.numbers[AT((i * n) % 24, 3)] *= 2.0f;  //@scale
  for (int i = 0; i < 24; ++i) y[i] = word.bits[i];  //@read
}

/* labels
[[find]]
cause = "dynamic-index"
object = "copied"
type = "int[32]"
size = 128
declared = "copied"
lines = ["fill", "mix", "read"]
primary = ["mix"]
index = ["[AT((copied[AT(i & 31, 3)] + i) & 31, 5)]", "[(copied[i & 31] + i) & 31]", "[AT(i & 31, 3)]", "[i & 31]"]
sources = ["memory copied", "loop-counter run-time"]
uniformity = "uniform"
*/
extern "C" __global__ void cast_wider(const int4 *x, int *y, int n) {
  int copied[32];  //@copied
  for (int i = 0; i < 8; ++i) reinterpret_cast<int4 *>(copied)[i] = x[i];  //@fill
#pragma unroll 1
  for (int i = 0; i < n; ++i) copied[AT((copied[AT(i & 31, 3)] + i) & 31, 5)] += i;  //@mix
  for (int i = 0; i < 32; ++i) y[i] = copied[i];  //@read
}

/* labels
[[find]]
cause = "dynamic-index"
object = "old_values"
type = "float[20]"
size = 80
declared = "both"
lines = ["fill_old", "first", "second", "read_old"]
primary = ["first", "second"]
index = ["[AT((i * 3) % 20, 3)]", "[(i * 3) % 20]", "[AT((i * 11) % 20, 5)]", "[(i * 11) % 20]"]
sources = ["loop-counter run-time"]
uniformity = "uniform"
[[find]]
cause = "dynamic-index"
object = "new_values"
type = "float[36]"
size = 144
declared = "both"
lines = ["fill_new", "first", "second", "read_new"]
primary = ["first", "second"]
index = ["[AT((i * 5) % 36, 4)]", "[(i * 5) % 36]", "[AT((i * 7) % 36, 6)]", "[(i * 7) % 36]"]
sources = ["loop-counter run-time"]
uniformity = "uniform"
*/
extern "C" __global__ void swapped_pointers(const float *x, float *y, int n) {
  float old_values[20], new_values[36];  //@both
  for (int i = 0; i < 20; ++i) old_values[i] = x[i];  //@fill_old
  for (int i = 0; i < 36; ++i) new_values[i] = x[i] * 0.5f;  //@fill_new
#pragma unroll 1
  for (int i = 0; i < n; ++i) {
    old_values[AT((i * 3) % 20, 3)] += new_values[AT((i * 5) % 36, 4)];  //@first
    new_values[AT((i * 7) % 36, 6)] -= old_values[AT((i * 11) % 20, 5)];  //@second
  }
  for (int i = 0; i < 20; ++i) y[i] = old_values[i];  //@read_old
  for (int i = 0; i < 36; ++i) y[i + 20] = new_values[i];  //@read_new
}

/* labels
[[find]]
cause = "rolled-loop"
object = "row"
type = "float[40]"
size = 160
declared = "row"
lines = ["fill", "read"]
primary = ["fill", "loop"]
index = ["[i]"]
sources = ["loop-counter constant"]
uniformity = "uniform"
*/
extern "C" __global__ void early_exit(const float *x, float *y) {
  float row[40];  //@row
ROLLED
  for (int i = 0; i < 40; ++i) row[i] = x[i * 32 + threadIdx.x];  //@fill
  float s = 0;
ROLLED
  for (int i = 0; i < 40; ++i) {  //@loop
    if (row[i] < 0.0f) break;  //@read
    s += row[i];
  }
  y[threadIdx.x] = s;
}

/* labels
[[find]]
cause = "dynamic-index"
object = "picked"
type = "float[30]"
size = 120
declared = "picked"
lines = ["fill", "pick", "read"]
primary = ["pick"]
index = ["[AT(x[i] > 0.0f ? a : b, 3)]", "[x[i] > 0.0f ? a : b]"]
sources = ["memory x", "parameter a", "parameter b"]
uniformity = "uniform"
*/
extern "C" __global__ void selected_index(const float *x, float *y, int a, int b, int n) {
  float picked[30];  //@picked
  for (int i = 0; i < 30; ++i) picked[i] = x[i];  //@fill
#pragma unroll 1
  for (int i = 0; i < n; ++i) picked[AT(x[i] > 0.0f ? a : b, 3)] += x[i];  //@pick
  for (int i = 0; i < 30; ++i) y[i] = picked[i];  //@read
}

/* labels
[[find]]
cause = "dynamic-index"
object = "local_printf_like"
type = "int[21]"
size = 84
declared = "local_printf_like"
lines = ["count", "read"]
primary = ["count"]
index = ["[AT(x[i] % 21, 3)]", "[x[i] % 21]"]
sources = ["memory x"]
uniformity = "uniform"
*/
extern "C" __global__ void named_like_others(const int *x, int *y, int n) {
  int local_printf_like[21] = {};  //@local_printf_like
  for (int i = 0; i < n; ++i) local_printf_like[AT(x[i] % 21, 3)] += i;  //@count
  for (int i = 0; i < 21; ++i) y[i] = local_printf_like[i];  //@read
}

__device__ NOINLINE int table_sum(const int *values, int n) {
  int s = 0;
  for (int i = 0; i < n; ++i) s += values[i];  //@callee_read
  return s;
}

/* labels
[[find]]
cause = "address-taken"
object = "mine"
type = "int[10]"
size = 40
declared = "both"
lines = ["fill_mine", "callee_read"]
primary = ["fill_mine", "callee_read", "call"]
[[find]]
cause = "dynamic-index"
object = "other"
type = "int[29]"
size = 116
declared = "both"
lines = ["fill_other", "mix", "read"]
primary = ["mix"]
index = ["[AT((i * n) % 29, 3)]", "[(i * n) % 29]"]
sources = ["parameter n", "loop-counter run-time"]
uniformity = "uniform"
*/
extern "C" __global__ void one_passed_one_indexed(const int *x, int *y, int n) {
  int mine[10], other[29];  //@both
  for (int i = 0; i < 10; ++i) mine[i] = x[i];  //@fill_mine
  for (int i = 0; i < 29; ++i) other[i] = x[i] * x[i];  //@fill_other
#pragma unroll 1
  for (int i = 0; i < n; ++i) other[AT((i * n) % 29, 3)] ^= i;  //@mix
  int s = table_sum(mine, 10);  //@call
  for (int i = 0; i < 29; ++i) s += other[i] * i;  //@read
  y[threadIdx.x] = s;
}

/* labels
[[find]]
cause = "register-spill"
[[find]]
cause = "printf-args"
primary = ["print"]
*/
extern "C" __global__ void __launch_bounds__(AT(1024, 128), AT(2, 1)) spills_and_prints(float *x, int n) {
  float v[80];
#pragma unroll
  for (int i = 0; i < 80; ++i) v[i] = x[i * 1024 + threadIdx.x];
  for (int r = 0; r < n; ++r)
#pragma unroll
    for (int i = 0; i < 80; ++i) v[i] = v[i] * v[(i + 7) % 80] + v[(i + 31) % 80];
  if (v[3] > 1e30f) AT(printf("large %f\n", v[3]), 0);  //@print
#pragma unroll
  for (int i = 0; i < 80; ++i) x[i * 1024 + threadIdx.x] = v[i];
}

struct Random {
  unsigned state[6];
  __device__ unsigned next() {
    unsigned t = state[5] ^ (state[5] >> 2);
#pragma unroll
    for (int i = 5; i > 0; --i) state[i] = state[i - 1];
    state[0] = t ^ (t << 1);
    return t + state[0];
  }
};

/* labels
clean = true
*/
extern "C" __global__ void generator_in_registers(const Random *states, unsigned *y, int n) {
  Random random = states[threadIdx.x];
  unsigned s = 0;
  for (int i = 0; i < n; ++i) s += random.next();
  y[threadIdx.x] = s;
}

/* labels
[[find]]
cause = "const-table"
object = "squares"
type = "int[50]"
size = 200
declared = "squares"
lines = ["fill", "read"]
primary = ["read"]
index = ["[AT(x[i] % 50, 3)]", "[x[i] % 50]"]
sources = ["memory x"]
uniformity = "uniform"
*/
extern "C" __global__ void table_by_loop(const int *x, int *y, int n) {
  int squares[50];  //@squares
#pragma unroll 1
  for (int i = 0; i < 50; ++i) squares[AT(i, 3)] = i * i + 7;  //@fill
  int s = 0;
#pragma unroll 1
  for (int i = 0; i < n; ++i) s += squares[AT(x[i] % 50, 3)];  //@read
  y[threadIdx.x] = s;
}

/* labels
[[find]]
cause = "dynamic-index"
object = "zeroed"
type = "int[50]"
size = 200
declared = "zeroed"
lines = ["fill", "mark", "read"]
primary = ["mark"]
index = ["[AT(x[i] % 50, 3)]", "[x[i] % 50]"]
sources = ["memory x"]
uniformity = "uniform"
*/
extern "C" __global__ void zeroed_then_counted(const int *x, int *y, int n) {
  int zeroed[50];  //@zeroed
#pragma unroll 1
  for (int i = 0; i < 50; ++i) zeroed[AT(i, 3)] = 0;  //@fill
#pragma unroll 1
  for (int i = 0; i < n; ++i) zeroed[AT(x[i] % 50, 3)] = 1;  //@mark
  for (int i = 0; i < 50; ++i) y[i] = zeroed[i];  //@read
}

/* labels
[[find]]
cause = "volatile"
object = "nothing"
type = "float"
size = 4
declared = "nothing"
lines = ["nothing", "nothing_read"]
primary = ["nothing_read"]
*/
extern "C" __global__ void chosen_against_volatile(float *y, int n) {
  volatile __shared__ float shared[32];
  float nothing = 0.0f;  //@nothing
  shared[threadIdx.x] = n;
  __syncthreads();
#ifndef EXPERIMENT
  y[threadIdx.x] = threadIdx.x < n ? shared[31 - threadIdx.x] : nothing;  //@nothing_read
#else
  y[threadIdx.x] = threadIdx.x < n ? shared[31 - threadIdx.x] : +nothing;
#endif
}
