// Labels: tests/labels.py says what they mean. Causes: what calls through pointers can reach and
// return, structures that point into themselves, members that only their neighbours are read with.

#ifndef EXPERIMENT
#define BOUND(run_time, constant) (run_time)
#define CALLED __noinline__
#define ROLLED _Pragma("unroll 1")
#else
#define BOUND(run_time, constant) (constant)
#define CALLED __forceinline__
#define ROLLED _Pragma("unroll")
#endif

struct Sample {
  float point[12];
  double weight[3];
};

typedef Sample (*Sampler)(unsigned *, float);
typedef float (*Area)(float);

__device__ CALLED Sample of_ball(unsigned *state, float r) {
  Sample made;
  for (int i = 0; i < 12; ++i) made.point[i] = r * (*state = *state * 1664525u + i);
  for (int i = 0; i < 3; ++i) made.weight[i] = r;
  return made;
}

__device__ CALLED Sample of_box(unsigned *state, float a) {
  Sample made;
  for (int i = 0; i < 12; ++i) made.point[i] = a + (*state = *state * 22695477u + i);
  for (int i = 0; i < 3; ++i) made.weight[i] = 2 * a;
  return made;
}

__device__ CALLED float area_of_ball(float r) { return sinhf(r) * r; }  //@ball_area
__device__ CALLED float area_of_box(float a) { return coshf(a) + tanhf(a) * a; }  //@box_area

__device__ Sampler samplers[2] = {of_ball, of_box};
__device__ Area areas[2] = {area_of_ball, area_of_box};

#ifndef EXPERIMENT
#define SAMPLE(which, state, size) samplers[which](state, size)
#else
#define SAMPLE(which, state, size) of_ball(state, size)
#endif

/* labels
[[find]]
cause = "call-frame"
primary = ["sample"]

[[find]]
cause = "callee-save"
primary = ["ball_area", "box_area"]
*/
// The functions of the other table are linked, and no call fits them. 72 bytes of the frame are for what the functions return, though 12 of them are read.
extern "C" __global__ void returned_in_memory(unsigned *seed, float *y, int n) {
  float sum = 0;
  ROLLED
  for (int i = 0; i < n; ++i) {
    const Sample made = SAMPLE(i & 1, seed + threadIdx.x, y[i]);  //@sample
    sum += made.point[3] + (float)made.weight[1];
  }
  y[threadIdx.x] = sum;
}

struct Ring {
  float *buffer;
  int head;
  float elements[22];

  __device__ float push(float x, int length) {
#ifndef EXPERIMENT
    const float old = buffer[head];
    buffer[head] = x;
#else
    float old = 0;
#pragma unroll
    for (int i = 0; i < 22; ++i)
      if (i == head) {
        old = elements[i];
        elements[i] = x;
      }
#endif
    head = head + 1 == length ? 0 : head + 1;
    return x - old;
  }
};

/* labels
[[find]]
cause = "address-taken"
object = "ring"
type = "Ring"
size = 104
declared = "ring"
primary = ["own"]
also = ["dynamic-index"]
*/
// Without the pointer it is indexed at run time, and stays all the same.
extern "C" __global__ void pointer_into_itself(const float *x, float *y, int n, int length) {
  Ring ring;  //@ring
#ifndef EXPERIMENT
  ring.buffer = ring.elements;  //@own
#endif
  ring.head = 0;
#pragma unroll
  for (int i = 0; i < 22; ++i) ring.elements[i] = 0;
  float sum = 0;
  ROLLED
  for (int i = 0; i < BOUND(n, 64); ++i) y[i] = sum += ring.push(x[i], length);
}

struct Hash {
  unsigned long long length;
  unsigned char key[64];
  unsigned char block[128];
  unsigned state[8];
  unsigned used;
};

__constant__ Hash keyed;

/* labels
[[find]]
cause = "dynamic-index"
object = "hash.block"
type = "unsigned char[128]"
size = 128
declared = "hash"
lines = ["append", "mix"]
primary = ["append"]
index = ["[hash.used++]"]
sources = ["memory keyed | memory hash"]
optional = ["loop-counter run-time", "parameter n"]
uniformity = "uniform"
*/
// The key is copied with all the rest, and nobody reads it. The line of the index does not
// name the block.
extern "C" __global__ void key_that_nobody_reads(const unsigned char *x, unsigned *y, int n) {
  Hash hash = keyed;  //@hash
#ifndef EXPERIMENT
  unsigned char *to = hash.block;
  for (int i = 0; i < n; ++i) to[hash.used++] = x[i];  //@append
#else
  hash.block[5] = x[n];
#endif
  unsigned sum = hash.state[0] ^ hash.state[3];
#pragma unroll
  for (int i = 0; i < 128; ++i) sum = sum * 31 + hash.block[i];  //@mix
  y[threadIdx.x] = sum;
}
