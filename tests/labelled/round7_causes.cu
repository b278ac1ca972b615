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
