// Labels: tests/labels.py says what they mean. Names and expressions: macros, scopes, shared places.

#ifndef EXPERIMENT
#define AT(run_time, constant) (run_time)
#else
#define AT(run_time, constant) (constant)
#endif

#define STEP(a, b, k)                          \
  a += words[AT(order[r * 2 + k] & 15, k)] ^ b; \
  b = (b << 7) | (b >> 25);

/* labels
[[find]]
cause = "dynamic-index"
object = "words"
type = "unsigned int[16]"
size = 64
declared = "words"
lines = ["fill", "first", "second"]
primary = ["first", "second"]
index = ["[AT(order[r * 2 + 0] & 15, 0)]", "[AT(order[r * 2 + 1] & 15, 1)]"]
sources = ["memory order"]
uniformity = "uniform"
*/
extern "C" __global__ void macro_rounds(const unsigned *x, const unsigned char *order, unsigned *y,
                                        int rounds) {
  unsigned words[16];  //@words
  for (int i = 0; i < 16; ++i) words[i] = x[i * 32 + threadIdx.x];  //@fill
  unsigned left = 1, right = 2;
  for (int r = 0; r < rounds; ++r) {
    STEP(left, right, 0)  //@first
    STEP(right, left, 1)  //@second
  }
  y[threadIdx.x] = left + right;
}

#define CELL(n) counts[AT(n, 1)]
#define BUMP(n) CELL((n) & 31) += 1

/* labels
[[find]]
cause = "dynamic-index"
object = "counts"
type = "int[32]"
size = 128
declared = "counts"
lines = ["set", "bump", "read"]
primary = ["bump"]
index = ["[AT((x[i * 32 + threadIdx.x]) & 31, 1)]", "[AT((n) & 31, 1)]"]
sources = ["memory x"]
uniformity = "data-dependent"
*/
extern "C" __global__ void macro_in_macro(const int *x, int *y, int n) {
  int counts[32];  //@counts
  for (int i = 0; i < 32; ++i) counts[i] = threadIdx.x;  //@set
  for (int i = 0; i < n; ++i) BUMP(x[i * 32 + threadIdx.x]);  //@bump
  for (int i = 0; i < 32; ++i) y[i * 32 + threadIdx.x] = counts[i];  //@read
}

/* labels
[[find]]
cause = "dynamic-index"
object = "head"
type = "float[20]"
size = 80
declared = "head"
lines = ["hfill", "hread"]
primary = ["hread"]
index = ["[AT(pick[i], 3)]"]
sources = ["memory pick"]
uniformity = "uniform"

[[find]]
cause = "dynamic-index"
object = "tail"
type = "float[24]"
size = 96
declared = "tail"
lines = ["tfill", "tread"]
primary = ["tread"]
index = ["[AT(pick[i * 2], 4)]"]
sources = ["memory pick"]
uniformity = "uniform"
*/
extern "C" __global__ void in_turn(const float *x, const int *pick, float *y, int n) {
  float sum = 0;
  {
    float head[20];  //@head
    for (int i = 0; i < 20; ++i) head[i] = x[i * 32 + threadIdx.x];  //@hfill
    for (int i = 0; i < n; ++i) sum += head[AT(pick[i], 3)];  //@hread
  }
  __syncthreads();
  {
    float tail[24];  //@tail
    for (int i = 0; i < 24; ++i) tail[i] = x[i * 64 + threadIdx.x];  //@tfill
    for (int i = 0; i < n; ++i) sum *= tail[AT(pick[i * 2], 4)];  //@tread
  }
  y[threadIdx.x] = sum;
}

/* labels
[[find]]
cause = "dynamic-index"
object = "buffer"
type = "int[18]"
size = 72
declared = "first"
lines = ["f1", "r1"]
primary = ["r1"]
index = ["[AT(pick[i] & 15, 3)]"]
sources = ["memory pick"]
uniformity = "uniform"

[[find]]
cause = "dynamic-index"
object = "buffer"
type = "int[26]"
size = 104
declared = "second"
lines = ["f2", "r2"]
primary = ["r2"]
index = ["[AT(x[i] & 15, 4)]"]
sources = ["memory x"]
uniformity = "uniform"
*/
extern "C" __global__ void one_name_twice(const int *x, const int *pick, int *y, int n) {
  int sum = 0;
  for (int round = 0; round < n; ++round) {
    if (round & 1) {
      int buffer[18];  //@first
      for (int i = 0; i < 18; ++i) buffer[i] = x[i * 32 + threadIdx.x];  //@f1
      for (int i = 0; i < n; ++i) sum += buffer[AT(pick[i] & 15, 3)];  //@r1
    } else {
      int buffer[26];  //@second
      for (int i = 0; i < 26; ++i) buffer[i] = x[i * 64 + threadIdx.x];  //@f2
      for (int i = 0; i < n; ++i) sum ^= buffer[AT(x[i] & 15, 4)];  //@r2
    }
  }
  y[threadIdx.x] = sum;
}

/* labels
[[find]]
cause = "dynamic-index"
object = "ring"
type = "int[16]"
size = 64
declared = "outer"
lines = ["ofill", "owrite", "oread"]
primary = ["owrite"]
index = ["[AT(x[k] & 15, 3)]"]
sources = ["memory x"]
uniformity = "uniform"

[[find]]
cause = "dynamic-index"
object = "ring"
type = "int[12]"
size = 48
declared = "inner"
lines = ["ifill", "iread"]
primary = ["iread"]
index = ["[AT(pick[i] % 12, 3)]"]
sources = ["memory pick"]
uniformity = "uniform"
*/
extern "C" __global__ void one_name_inside(const int *x, const int *pick, int *y, int n) {
  int ring[16];  //@outer
  for (int i = 0; i < 16; ++i) ring[i] = x[i * 32 + threadIdx.x];  //@ofill
  for (int k = 0; k < n; ++k) {
    ring[AT(x[k] & 15, 3)] += k;  //@owrite
    if (x[k + n] > 0) {
      int sum = 0;
      int ring[12];  //@inner
      for (int i = 0; i < 12; ++i) ring[i] = x[i * 64 + k + threadIdx.x];  //@ifill
      for (int i = 0; i < n; ++i) sum ^= ring[AT(pick[i] % 12, 3)];  //@iread
      y[k * 32 + threadIdx.x] = sum;
    }
  }
  for (int i = 0; i < 16; ++i) y[i * 32 + threadIdx.x] += ring[i];  //@oread
}
