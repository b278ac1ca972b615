// Labels: tests/labels.py says what they mean. Causes: places used in turn, loops that end early.

#ifndef EXPERIMENT
#define BOUND(run_time, constant) (run_time)
#define CALLED __noinline__
#define ROLLED _Pragma("unroll 1")
#else
#define BOUND(run_time, constant) (constant)
#define CALLED __forceinline__
#define ROLLED _Pragma("unroll")
#endif

__device__ CALLED void invert(unsigned long long *z) {
  unsigned long long carry = z[4] | 1;  //@first
  for (int i = 0; i < 5; ++i) {
    z[i] = z[i] * carry + (carry >> 7);  //@inner
    carry ^= z[i];
  }
}

__device__ unsigned digest(const unsigned char *x, int length) {
  unsigned hash = 0;
  unsigned char block[64] = {};  //@block
  ROLLED
  for (int i = 0; i < length; ++i) block[i] = x[i];  //@fill
  block[length] = 0x80;                              //@end
  const unsigned *words = (const unsigned *)block;
  for (int i = 0; i < 16; ++i) hash = (hash ^ words[i]) * 16777619u;  //@hash
  return hash;
}

__device__ unsigned scaled(unsigned hash) {
  unsigned long long z[5] = {1, 0, 0, 0, 0};  //@z
  for (int i = 0; i < 5; ++i) z[i] += (unsigned long long)hash * (i + 3);  //@zfill
  invert(z);                                                              //@pass
  for (int i = 0; i < 5; ++i) hash ^= (unsigned)z[i];                     //@zread
  return hash;
}

/* labels
[[find]]
cause = "dynamic-index"
object = "block"
type = "unsigned char[64]"
size = 64
declared = "block"
lines = ["block", "fill", "end", "hash"]
primary = ["fill", "end"]
sources = ["memory lengths | parameter lengths"]
optional = ["loop-counter run-time", "loop-counter constant"]
uniformity = ["uniform", "data-dependent"]
also = []

[[find]]
cause = "address-taken"
object = "z"
type = "unsigned long long[5]"
size = 40
declared = "z"
lines = ["first", "inner", "zfill", "zread"]
primary = ["pass"]
also = []
*/
extern "C" __global__ void indexed_then_passed(unsigned *y, const unsigned char *x,
                                               const unsigned char *lengths) {
  for (int i = 0; i < 100; ++i) {
    const unsigned hash = digest(x + i * 64, BOUND(lengths[i], 21));
    y[i * 32 + threadIdx.x] = scaled(hash);
  }
}

/* labels
[[find]]
cause = "dynamic-index"
object = "weights"
type = "int[40]"
size = 160
declared = "weights"
lines = ["wfill", "wread"]
primary = ["wread"]
index = ["[i]"]
sources = ["loop-counter run-time"]
optional = ["memory lengths | parameter lengths"]
uniformity = "data-dependent"
*/
// Lanes leave the unrolled part at different trips: what is left over begins at other elements.
extern "C" __global__ void rest_of_own_length(int *y, const int *x, const int *lengths) {
  int weights[40];                                                   //@weights
  for (int i = 0; i < 40; ++i) weights[i] = x[i * 32 + threadIdx.x];  //@wfill
  const int length = BOUND(lengths[threadIdx.x], 40);
  int sum = 0;
  for (int i = 0; i < length; ++i) sum = sum * 3 + weights[i];  //@wread
  y[threadIdx.x] = sum;
}

/* labels
[[find]]
cause = "dynamic-index"
object = "weights"
type = "int[40]"
size = 160
declared = "weights"
lines = ["wfill", "wread"]
primary = ["wread"]
index = ["[i]"]
sources = ["loop-counter run-time"]
uniformity = "uniform"
*/
extern "C" __global__ void rest_of_one_length(int *y, const int *x, const int *lengths) {
  int weights[40];                                                   //@weights
  for (int i = 0; i < 40; ++i) weights[i] = x[i * 32 + threadIdx.x];  //@wfill
  const int length = BOUND(lengths[blockIdx.x], 40);
  int sum = 0;
  for (int i = 0; i < length; ++i) sum = sum * 3 + weights[i];  //@wread
  y[threadIdx.x] = sum;
}

struct Stack {
  int data[29];
  int size = 0;
  __device__ void push(int value) {
#ifndef EXPERIMENT
    data[size++] = value;  //@push
#else
    for (int i = 0; i < 29; ++i)
      if (i == size) data[i] = value;
    ++size;
#endif
  }
  __device__ int pop() {
#ifndef EXPERIMENT
    return data[--size];  //@pop
#else
    int found = 0;
    --size;
    for (int i = 0; i < 29; ++i)
      if (i == size) found = data[i];
    return found;
#endif
  }
};

struct Node {
  int left, right, value;
};

__device__ int largest(const Node *nodes, Stack &stack, int most) {
  const Node *node = &nodes[most & 7];
  for (;;) {
    most = max(most, node->value);
    if (node->left > 0) stack.push(node->left);
    if (node->right > 0) stack.push(node->right);
    if (stack.size == 0) break;
    node = &nodes[stack.pop()];
  }
  return most;
}

/* labels
[[find]]
cause = "dynamic-index"
object = "stack.data"
type = "int[29]"
size = 116
declared = "stack"
lines = ["push", "pop"]
primary = ["push", "pop"]
index = ["[size++]", "[--size]"]
sources = ["memory stack | memory nodes"]
optional = ["memory nodes", "loop-counter run-time"]
uniformity = "data-dependent"
*/
extern "C" __global__ void two_helpers_deep(const Node *nodes, int *y) {
  Stack stack;  //@stack
  y[threadIdx.x] = largest(nodes, stack, threadIdx.x);
}

__device__ CALLED void whiten(unsigned long long *words) {
  unsigned long long carry = words[3] | 1;
  for (int i = 0; i < 4; ++i) {
    words[i] = words[i] * carry + (carry >> 7);
    carry ^= words[i];
  }
}

/* labels
[[find]]
cause = "address-taken"
object = "words"
type = "unsigned long long[4]"
size = 32
declared = "words"
primary = ["whiten"]
also = []
*/
// The compiler's loop over bytes is none that could be unrolled: the copy goes to registers.
extern "C" __global__ void copied_then_passed(unsigned long long *y, const unsigned char *x) {
  unsigned long long words[4];              //@words
  memcpy(words, x + blockIdx.x * 33, 32);
  whiten(words);  //@whiten
  y[threadIdx.x] = words[0] ^ words[1] ^ words[2] ^ words[3];
}

/* labels
[[find]]
cause = "address-taken"
object = "words"
type = "unsigned long long[4]"
size = 32
declared = "words"
primary = ["whiten"]
also = ["rolled-loop"]
*/
extern "C" __global__ void filled_then_passed(unsigned long long *y, const unsigned char *x) {
  unsigned long long words[4];  //@words
  ROLLED
  for (int i = 0; i < 4; ++i) words[i] = x[i * 7] * (x[blockIdx.x + i] | 3ull);
  whiten(words);  //@whiten
  y[threadIdx.x] = words[0] ^ words[1] ^ words[2] ^ words[3];
}

#ifndef EXPERIMENT
#define MOST
#else
#define MOST _Pragma("unroll")
#endif

__device__ bool visited(const int *path, int count, int node) {
  MOST
  for (int i = 0; i < BOUND(count, 17); ++i)
    if (i < count && path[i] == node) return true;  //@compare
  return false;
}

/* labels
[[find]]
cause = "rolled-loop"
object = "path"
type = "int[17]"
size = 68
declared = "path"
lines = ["begin", "compare", "append", "visit"]
primary = ["depth"]
index = ["[count++]"]
sources = ["loop-counter constant"]
uniformity = "uniform"
archs = ["sm_75", "sm_80", "sm_90"]

[[find]]
cause = "dynamic-index"
object = "path"
type = "int[17]"
size = 68
declared = "path"
lines = ["begin", "compare", "append", "visit"]
primary = ["compare", "visit"]
index = ["[i]"]
sources = ["loop-counter run-time"]
optional = ["loop-counter constant", "memory next", "memory path", "thread-id threadIdx.x"]
uniformity = "data-dependent"
archs = ["sm_100", "sm_120"]
*/
// Up to sm_90 loops that end at `count` are unrolled to its greatest value, with constant indices:
// unrolling the one loop that is left takes the array out of memory, although it ends early. Beyond,
// they have a run-time length.
extern "C" __global__ void path_so_far(const int *next, int *visits) {
  int path[17];  //@path
  int count = 1, node = threadIdx.x;
  path[0] = node;  //@begin
  ROLLED
  for (int depth = 0; depth < 16; ++depth) {  //@depth
    const int child = (int)(sqrtf((float)next[node]) / next[node + 1]);
    if (child < 0 || visited(path, count, child)) break;
    path[count++] = child;  //@append
    node = child;
  }
  MOST
  for (int i = 0; i < BOUND(count, 17); ++i)
    if (i < count) atomicAdd(&visits[path[i]], 1);  //@visit
}
