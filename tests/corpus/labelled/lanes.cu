// Labels: tests/labels.py says what they mean. Special registers, exchanges between lanes, bits, and
// values that lanes do not share: joined behind a branch, carried out of a loop.

#ifndef EXPERIMENT
#define AT(run_time, constant) (run_time)
#else
#define AT(run_time, constant) (constant)
#endif

#define EVERY 0xffffffffu

/* labels
[[find]]
cause = "dynamic-index"
object = "sample"
type = "float[40]"
size = 160
declared = "sample"
lines = ["fill", "change", "read"]
primary = ["change"]
index = ["[AT(((unsigned)now + r) % 40, 3)]", "[((unsigned)now + r) % 40]"]
sources = ["other %clock64", "loop-counter run-time"]
uniformity = "uniform"
*/
extern "C" __global__ void by_clock(const float *x, float *y, int n) {
  float sample[40];  //@sample
  for (int i = 0; i < 40; ++i) sample[i] = x[i * 32 + threadIdx.x];  //@fill
  long long now = clock64();
#pragma unroll 1
  for (int r = 0; r < n; ++r) {
    sample[AT(((unsigned)now + r) % 40, 3)] += x[r];  //@change
  }
  for (int i = 0; i < 40; ++i) y[i * 32 + threadIdx.x] = sample[i];  //@read
}

/* labels
[[find]]
cause = "dynamic-index"
object = "sample"
type = "float[40]"
size = 160
declared = "sample"
lines = ["fill", "change", "read"]
primary = ["change"]
index = ["[AT((sm + r) % 40, 3)]", "[(sm + r) % 40]"]
sources = ["other %smid", "loop-counter run-time"]
uniformity = "uniform"
*/
extern "C" __global__ void by_multiprocessor(const float *x, float *y, int n) {
  float sample[40];  //@sample
  for (int i = 0; i < 40; ++i) sample[i] = x[i * 32 + threadIdx.x];  //@fill
  unsigned sm;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
#pragma unroll 1
  for (int r = 0; r < n; ++r) {
    sample[AT((sm + r) % 40, 3)] += x[r];  //@change
  }
  for (int i = 0; i < 40; ++i) y[i * 32 + threadIdx.x] = sample[i];  //@read
}

/* labels
[[find]]
cause = "dynamic-index"
object = "sample"
type = "float[40]"
size = 160
declared = "sample"
lines = ["fill", "change", "read"]
primary = ["change"]
index = ["[AT((lane + r) % 40, 3)]", "[(lane + r) % 40]"]
sources = ["other %laneid | thread-id %laneid | thread-id laneid", "loop-counter run-time"]
uniformity = "lane-varying"
*/
extern "C" __global__ void by_lane_register(const float *x, float *y, int n) {
  float sample[40];  //@sample
  for (int i = 0; i < 40; ++i) sample[i] = x[i * 32 + threadIdx.x];  //@fill
  unsigned lane;
  asm("mov.u32 %0, %%laneid;" : "=r"(lane));
#pragma unroll 1
  for (int r = 0; r < n; ++r) {
    sample[AT((lane + r) % 40, 3)] += x[r];  //@change
  }
  for (int i = 0; i < 40; ++i) y[i * 32 + threadIdx.x] = sample[i];  //@read
}

/* labels
[[find]]
cause = "dynamic-index"
object = "sample"
type = "float[40]"
size = 160
declared = "sample"
lines = ["fill", "change", "read"]
primary = ["change"]
index = ["[AT(warp % 40, 3)]", "[warp % 40]", "[AT(threadIdx.x / 32, 4)]", "[threadIdx.x / 32]"]
sources = ["other %warpid", "thread-id threadIdx.x"]
uniformity = "uniform"
*/
extern "C" __global__ void by_warp(const float *x, float *y, int n) {
  float sample[40];  //@sample
  for (int i = 0; i < 40; ++i) sample[i] = x[i * 32 + threadIdx.x];  //@fill
  unsigned warp;
  asm volatile("mov.u32 %0, %%warpid;" : "=r"(warp));
#pragma unroll 1
  for (int r = 0; r < n; ++r) {
    sample[AT(warp % 40, 3)] += x[r];  //@change
    sample[AT(threadIdx.x / 32, 4)] += x[r];  //@change
  }
  for (int i = 0; i < 40; ++i) y[i * 32 + threadIdx.x] = sample[i];  //@read
}

/* labels
[[find]]
cause = "dynamic-index"
object = "sample"
type = "float[40]"
size = 160
declared = "sample"
lines = ["fill", "change", "read"]
primary = ["change"]
index = ["[AT((blockIdx.x + gridDim.x + r) % 40, 3)]", "[(blockIdx.x + gridDim.x + r) % 40]"]
sources = ["block-id blockIdx.x", "other gridDim.x", "loop-counter run-time"]
uniformity = "uniform"
*/
extern "C" __global__ void by_block(const float *x, float *y, int n) {
  float sample[40];  //@sample
  for (int i = 0; i < 40; ++i) sample[i] = x[i * 32 + threadIdx.x];  //@fill
#pragma unroll 1
  for (int r = 0; r < n; ++r) {
    sample[AT((blockIdx.x + gridDim.x + r) % 40, 3)] += x[r];  //@change
  }
  for (int i = 0; i < 40; ++i) y[i * 32 + threadIdx.x] = sample[i];  //@read
}

/* labels
[[find]]
cause = "dynamic-index"
object = "votes"
type = "int[32]"
size = 128
declared = "votes"
lines = ["count", "read"]
primary = ["count"]
index = ["[AT(chosen & 31, 3)]", "[chosen & 31]"]
sources = ["memory x"]
uniformity = "uniform"
*/
extern "C" __global__ void broadcast(const int *x, int *y, int n) {
  int votes[32] = {};  //@votes
#pragma unroll 1
  for (int i = 0; i < n; ++i) {
    int mine = x[i * 32 + threadIdx.x];
    int chosen = __shfl_sync(EVERY, mine, 0);
    votes[AT(chosen & 31, 3)] += mine;  //@count
  }
  for (int i = 0; i < 32; ++i) y[i * 32 + threadIdx.x] = votes[i];  //@read
}

/* labels
[[find]]
cause = "dynamic-index"
object = "votes"
type = "int[32]"
size = 128
declared = "votes"
lines = ["fill", "change", "read"]
primary = ["change"]
index = ["[AT((next + r) & 31, 3)]", "[(next + r) & 31]"]
sources = ["thread-id threadIdx.x", "loop-counter run-time"]
uniformity = "lane-varying"
*/
extern "C" __global__ void neighbour(const int *x, int *y, int n) {
  int votes[32];  //@votes
  for (int i = 0; i < 32; ++i) votes[i] = x[i * 32 + threadIdx.x];  //@fill
  int next = __shfl_down_sync(EVERY, threadIdx.x * 3, 1);
#pragma unroll 1
  for (int r = 0; r < n; ++r) {
    votes[AT((next + r) & 31, 3)] += x[r];  //@change
  }
  for (int i = 0; i < 32; ++i) y[i * 32 + threadIdx.x] = votes[i];  //@read
}

/* labels
[[find]]
cause = "dynamic-index"
object = "kept"
type = "float[36]"
size = 144
declared = "kept"
lines = ["fill", "change", "read"]
primary = ["change"]
index = ["[AT((__popc(above) + r) % 36, 3)]", "[(__popc(above) + r) % 36]"]
sources = ["memory x", "parameter limit", "loop-counter run-time"]
uniformity = "uniform"
*/
extern "C" __global__ void ballot_rank(const float *x, float *y, float limit, int n) {
  float kept[36];  //@kept
  for (int i = 0; i < 36; ++i) kept[i] = x[i * 64 + threadIdx.x];  //@fill
  unsigned above = __ballot_sync(EVERY, x[threadIdx.x] > limit);
#pragma unroll 1
  for (int r = 0; r < n; ++r) {
    kept[AT((__popc(above) + r) % 36, 3)] += x[r];  //@change
  }
  for (int i = 0; i < 36; ++i) y[i * 32 + threadIdx.x] = kept[i];  //@read
}

/* labels
[[find]]
cause = "dynamic-index"
object = "kept"
type = "float[36]"
size = 144
declared = "kept"
lines = ["fill", "change", "read"]
primary = ["change"]
index = ["[AT((__popc(below) + r) % 36, 3)]", "[(__popc(below) + r) % 36]"]
sources = ["memory x", "parameter limit", "thread-id threadIdx.x", "loop-counter run-time"]
uniformity = ["lane-varying", "data-dependent"]
*/
extern "C" __global__ void rank_below(const float *x, float *y, float limit, int n) {
  float kept[36];  //@kept
  for (int i = 0; i < 36; ++i) kept[i] = x[i * 64 + threadIdx.x];  //@fill
  unsigned above = __ballot_sync(EVERY, x[threadIdx.x] > limit);
  unsigned below = above & ((1u << (threadIdx.x & 31)) - 1);
#pragma unroll 1
  for (int r = 0; r < n; ++r) {
    kept[AT((__popc(below) + r) % 36, 3)] += x[r];  //@change
  }
  for (int i = 0; i < 36; ++i) y[i * 32 + threadIdx.x] = kept[i];  //@read
}

/* labels
[[find]]
cause = "dynamic-index"
object = "level"
type = "unsigned int[36]"
size = 144
declared = "level"
lines = ["fill", "change", "read"]
primary = ["change"]
index = ["[AT((most + r) % 36, 3)]", "[(most + r) % 36]"]
sources = ["memory x", "loop-counter run-time"]
uniformity = "uniform"
*/
extern "C" __global__ void warp_maximum(const unsigned *x, unsigned *y, int n) {
  unsigned level[36];  //@level
  for (int i = 0; i < 36; ++i) level[i] = x[i * 64 + threadIdx.x];  //@fill
#if __CUDA_ARCH__ >= 800
  unsigned most = __reduce_max_sync(EVERY, x[threadIdx.x] & 31);
#else
  unsigned most = __shfl_sync(EVERY, x[threadIdx.x] & 31, 7);
#endif
#pragma unroll 1
  for (int r = 0; r < n; ++r) {
    level[AT((most + r) % 36, 3)] += x[r];  //@change
  }
  for (int i = 0; i < 36; ++i) y[i * 32 + threadIdx.x] = level[i];  //@read
}

/* labels
[[find]]
cause = "dynamic-index"
object = "group"
type = "int[33]"
size = 132
declared = "group"
lines = ["fill", "change", "read"]
primary = ["change"]
index = ["[AT((__ffs(same) + r) % 33, 3)]", "[(__ffs(same) + r) % 33]"]
sources = ["memory x", "loop-counter run-time"]
uniformity = "data-dependent"
*/
extern "C" __global__ void peers(const int *x, int *y, int n) {
  int group[33];  //@group
  for (int i = 0; i < 33; ++i) group[i] = x[i * 32 + threadIdx.x];  //@fill
  unsigned same = __match_any_sync(EVERY, x[threadIdx.x]);
#pragma unroll 1
  for (int r = 0; r < n; ++r) {
    group[AT((__ffs(same) + r) % 33, 3)] += x[r];  //@change
  }
  for (int i = 0; i < 33; ++i) y[i * 32 + threadIdx.x] = group[i];  //@read
}

/* labels
[[find]]
cause = "dynamic-index"
object = "level"
type = "float[66]"
size = 264
declared = "level"
lines = ["fill", "change", "read"]
primary = ["change"]
index = ["[AT(__clz(mask), 3)]", "[__clz(mask)]", "[AT(__brev(key) >> 27, 4)]", "[__brev(key) >> 27]"]
sources = ["parameter mask", "parameter key"]
uniformity = "uniform"
*/
extern "C" __global__ void bits(const float *x, float *y, unsigned mask, unsigned key, int n) {
  float level[66];  //@level
  for (int i = 0; i < 66; ++i) level[i] = x[i * 32 + threadIdx.x];  //@fill
#pragma unroll 1
  for (int r = 0; r < n; ++r) {
    level[AT(__clz(mask), 3)] += x[r];  //@change
    level[AT(__brev(key) >> 27, 4)] += x[r];  //@change
  }
  for (int i = 0; i < 66; ++i) y[i * 32 + threadIdx.x] = level[i];  //@read
}

/* labels
[[find]]
cause = "dynamic-index"
object = "bins"
type = "int[40]"
size = 160
declared = "bins"
lines = ["by_log", "by_root", "read"]
primary = ["by_log", "by_root"]
index = ["[AT((int)log2f(x[i]) & 31, 3)]", "[(int)log2f(x[i]) & 31]", "[AT((int)sqrtf(width * i) % 40, 4)]", "[(int)sqrtf(width * i) % 40]"]
sources = ["memory x", "parameter width", "loop-counter run-time"]
uniformity = "uniform"
*/
extern "C" __global__ void log_bins(const float *x, int *y, int n, float width) {
  int bins[40] = {};  //@bins
#pragma unroll 1
  for (int i = 0; i < n; ++i) {
    bins[AT((int)log2f(x[i]) & 31, 3)] += 1;  //@by_log
    bins[AT((int)sqrtf(width * i) % 40, 4)] += 2;  //@by_root
  }
  for (int i = 0; i < 40; ++i) y[i * 32 + threadIdx.x] = bins[i];  //@read
}

/* labels
[[find]]
cause = "dynamic-index"
object = "level"
type = "float[48]"
size = 192
declared = "level"
lines = ["fill", "change", "read"]
primary = ["change"]
index = ["[AT(((int)(40.0f * exp2f(-rate)) + r) % 48, 3)]", "[((int)(40.0f * exp2f(-rate)) + r) % 48]"]
sources = ["parameter rate", "loop-counter run-time"]
uniformity = "uniform"
*/
extern "C" __global__ void decay(const float *x, float *y, float rate, int n) {
  float level[48];  //@level
  for (int i = 0; i < 48; ++i) level[i] = x[i * 32 + threadIdx.x];  //@fill
#pragma unroll 1
  for (int r = 0; r < n; ++r) {
    level[AT(((int)(40.0f * exp2f(-rate)) + r) % 48, 3)] += x[r];  //@change
  }
  for (int i = 0; i < 48; ++i) y[i * 32 + threadIdx.x] = level[i];  //@read
}

/* labels
[[find]]
cause = "dynamic-index"
object = "level"
type = "float[48]"
size = 192
declared = "level"
lines = ["fill", "change", "read"]
primary = ["change"]
index = ["[AT((k + r) % 48, 3)]", "[(k + r) % 48]"]
sources = ["thread-id threadIdx.x", "parameter a", "parameter b", "loop-counter run-time"]
uniformity = "lane-varying"
*/
extern "C" __global__ void odd_and_even(const float *x, float *y, int a, int b, int n) {
  float level[48];  //@level
  for (int i = 0; i < 48; ++i) level[i] = x[i];  //@fill
  int k;
  if (threadIdx.x & 1) {
    k = a;
    y[0] = 1.0f;
  } else {
    k = b;
    y[1] = 2.0f;
  }
#pragma unroll 1
  for (int r = 0; r < n; ++r) {
    level[AT((k + r) % 48, 3)] += x[r];  //@change
  }
  for (int i = 0; i < 48; ++i) y[i * 32 + threadIdx.x] = level[i];  //@read
}

/* labels
[[find]]
cause = "dynamic-index"
object = "level"
type = "float[48]"
size = 192
declared = "level"
lines = ["fill", "change", "read"]
primary = ["change"]
index = ["[AT((steps + r) % 48, 3)]", "[(steps + r) % 48]"]
sources = ["memory next", "loop-counter run-time"]
uniformity = "data-dependent"
*/
extern "C" __global__ void steps_taken(const int *next, const float *x, float *y, int n) {
  float level[48];  //@level
  for (int i = 0; i < 48; ++i) level[i] = x[i];  //@fill
  int at = threadIdx.x, steps = 0;
#pragma unroll 1
  while (next[at] >= 0) {
    at = next[at];
    ++steps;
  }
#pragma unroll 1
  for (int r = 0; r < n; ++r) {
    level[AT((steps + r) % 48, 3)] += x[r];  //@change
  }
  for (int i = 0; i < 48; ++i) y[i * 32 + threadIdx.x] = level[i];  //@read
}

/* labels
[[find]]
cause = "dynamic-index"
object = "level"
type = "float[48]"
size = 192
declared = "level"
lines = ["fill", "read"]
primary = ["read"]
index = ["[AT(i % 48, 3)]", "[i % 48]"]
sources = ["loop-counter run-time"]
uniformity = "uniform"
*/
extern "C" __global__ void lanes_leave(const float *x, float *y) {
  float level[48];  //@level
  for (int i = 0; i < 48; ++i) level[i] = x[i];  //@fill
#pragma unroll 1
  for (int i = 0; i < threadIdx.x; ++i) y[i] = level[AT(i % 48, 3)];  //@read
}
