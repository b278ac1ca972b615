// Labels: tests/labels.py says what they mean. Names: places used in turn, what is left over.

#ifndef EXPERIMENT
#define AT(run_time, constant) (run_time)
#define ROLLED _Pragma("unroll 1")
#else
#define AT(run_time, constant) (constant)
#define ROLLED _Pragma("unroll")
#endif

/* labels
[[find]]
cause = ["rolled-loop", "const-table"]
object = "rounds"
type = "const unsigned long long[10]"
size = 80
declared = "rounds"
lines = ["rounds", "use"]
primary = ["loop", "use"]
index = ["[r]"]
sources = ["loop-counter constant"]
uniformity = "uniform"

[[find]]
cause = "dynamic-index"
object = "last"
type = "unsigned long long[8]"
size = 64
declared = "last"
lines = ["write", "read"]
primary = ["read"]
index = ["[AT(threadIdx.x & 7, 3)]"]
sources = ["thread-id threadIdx.x"]
uniformity = "lane-varying"
*/
extern "C" __global__ void table_then_array(unsigned long long *y, const unsigned long long *x) {
  const unsigned long long rounds[10] = {11, 22, 33, 44, 55, 66, 77, 88, 99, 111};  //@rounds
  unsigned long long hash = x[0];
  ROLLED
  for (unsigned r = 0; r < 10; ++r)  //@loop
    hash = hash * x[r & 3] + rounds[r];  //@use
  unsigned long long last[8];                          //@last
  for (int i = 0; i < 8; ++i) last[i] = hash * x[i];   //@write
  y[threadIdx.x] = last[AT(threadIdx.x & 7, 3)];       //@read
}

/* labels
[[find]]
cause = "dynamic-index"
object = "first"
type = "int[16]"
size = 64
declared = "first"
lines = ["fill", "add", "add_all"]
primary = ["add"]
index = ["[AT(x[i * 3 + threadIdx.x] & 15, 1)]"]
sources = ["memory x"]
uniformity = "data-dependent"

[[find]]
cause = "dynamic-index"
object = "second"
type = "int[16]"
size = 64
declared = "second"
lines = ["refill", "more", "more_all"]
primary = ["more"]
index = ["[AT(x[i * 5 + threadIdx.x] & 15, 2)]"]
sources = ["memory x"]
uniformity = "data-dependent"
*/
extern "C" __global__ void in_turn_in_one_loop(int *y, const int *x, int n) {
  int first[16];   //@first
  int second[16];  //@second
  int sum = 0;
#pragma unroll 1
  for (int i = 0; i < n; ++i) {
    for (int k = 0; k < 16; ++k) first[k] = x[i + k];                 //@fill
    first[AT(x[i * 3 + threadIdx.x] & 15, 1)] += sum;                 //@add
    for (int k = 0; k < 16; ++k) sum += first[k] * x[k];              //@add_all
    for (int k = 0; k < 16; ++k) second[k] = x[i * 7 + k] * sum;      //@refill
    second[AT(x[i * 5 + threadIdx.x] & 15, 2)] += sum;                //@more
    for (int k = 0; k < 16; ++k) sum += second[k] * x[k];             //@more_all
  }
  y[threadIdx.x] = sum;
}


__device__ __forceinline__ void fetch(const int *x, int n, int i, bool share, int &kind, int &box) {
  if (i >= n) return;
  kind = x[i];  //@set_kind
  box = -1;
  if (share)
    box = i * n + kind;  //@set_shared
  else
    box = i * n * 7 + x[i + n] * 7 + kind;  //@set_box
}

__device__ __forceinline__ void put(int *y, int kind, int box, int n) {
  y[0] = kind;
  y[1] = box % n;
}

/* labels
[[find]]
cause = "dynamic-index"
object = "kinds"
type = "int[5]"
size = 20
declared = "kinds"
lines = ["set_kind", "compare"]
primary = ["compare", "fetch"]
index = ["[AT(t, 1)]"]
sources = ["loop-counter run-time", "other blockDim.x"]
uniformity = "uniform"

[[find]]
cause = "dynamic-index"
object = "weights"
type = "double[4]"
size = 32
declared = "weights"
lines = ["set_weight", "weigh"]
primary = ["set_weight", "weigh"]
index = ["[AT(t, 1)]"]
sources = ["loop-counter run-time", "other blockDim.x"]
uniformity = "uniform"

[[find]]
cause = "dynamic-index"
object = "boxes"
type = "int[5]"
size = 20
declared = "boxes"
lines = ["set_shared", "set_box", "put"]
primary = ["put", "fetch_box"]
index = ["[AT(t, 1)]"]
sources = ["loop-counter run-time", "other blockDim.x"]
uniformity = "uniform"
*/
extern "C" __global__ void left_over(int *y, const int *x, int n, int m, bool share) {
  int kinds[5];      //@kinds
  double weights[4]; //@weights
  int boxes[5];      //@boxes
  for (int t = 0; t < m; ++t) {
    weights[AT(t, 1)] = x[t];  //@set_weight
    fetch(x, n, t * blockDim.x + threadIdx.x,
          share, kinds[AT(t, 1)],   //@fetch
          boxes[AT(t, 1)]);         //@fetch_box
  }
  for (int i = 0; i < n; ++i) {
    int t = i / blockDim.x;
    if (kinds[AT(t, 1)] == i) y[i] = n;  //@compare
    if (weights[AT(t, 1)] > i)           //@weigh
      put(y + i,
          kinds[AT(t, 1)], boxes[AT(t, 1)], n);  //@put
  }
}
