// Labels: tests/labels.py says what they mean. Causes: addresses that are only compared, of what has
// a name and of what has none.

struct Triple {
  double d[3];

  __device__ explicit Triple(double x) : d{x, x, x} {}
  __device__ Triple &operator=(const Triple &other) {
#ifndef EXPERIMENT
    if (&other != this) {  //@itself
#else
    {
#endif
      d[0] = other.d[0];
      d[1] = other.d[1];
      d[2] = other.d[2];
    }
    return *this;
  }
};

/* labels
[[find]]
cause = "address-taken"
primary = ["itself"]
archs = ["sm_75", "sm_80", "sm_90"]
*/
// The temporary is stored, and nobody reads it: what is assigned got the values. For sm_100 and newer
// it is gone.
extern "C" __global__ void assigned_temporary(const double *x, Triple *y, int width) {
  const int at = (blockIdx.y * blockDim.y + threadIdx.y) * width + threadIdx.x;
  y[at] = Triple(x[at] * 255);
}

struct Book {
  int sizes[10];
  int best;
};

__device__ __forceinline__ void moved(const int *from, int *to, int count) {
#ifndef EXPERIMENT
  if (from < to && to < from + count) {  //@overlap
#else
  if (false) {
#endif
#pragma unroll
    for (int i = 9; i >= 0; --i) to[i] = from[i];  //@down
  } else {
#pragma unroll
    for (int i = 0; i < 10; ++i) to[i] = from[i];  //@up
  }
}

/* labels
experiment_frame = 48
[[find]]
cause = "address-taken"
object = "update"
type = "int[10]"
size = 40
declared = "update"
primary = ["overlap"]

[[find]]
cause = "dynamic-index"
object = "book.sizes"
type = "int[10]"
size = 40
declared = "book"
lines = ["down", "up", "level"]
primary = ["level"]
index = ["[level[i]]"]
sources = ["memory level"]
optional = ["loop-counter run-time", "parameter n"]
uniformity = "uniform"
*/
// What is copied is known; only where it lies is asked for.
extern "C" __global__ void compared_places(const int *level, int *y, int n) {
  Book book;  //@book
  book.best = n;
  int update[10] = {1, 2, 3, 4, 5, 5, 4, 3, 2, n};  //@update
  moved(update, book.sizes, 10);
  int sum = book.best;
  for (int i = 0; i < n; ++i) sum += book.sizes[level[i]];  //@level
  y[threadIdx.x] = sum;
}
