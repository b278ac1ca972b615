// Steps over an array that follow each other: a parent that launches each step as a child, and a
// grid that loops.
//
// Expect: no local memory in either. Children that one thread launches into its default stream run
// one after another, so steps_by_children needs no synchronisation; each of its steps costs a launch.
// steps_in_a_loop keeps the element in a register from the first step to the last.

extern "C" __global__ void one_step(float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] = 0.5f * x[i] + 1.0f;
}

extern "C" __global__ void steps_by_children(float *x, int n, int steps) {
  for (int step = 0; step < steps; ++step) one_step<<<(n + 255) / 256, 256>>>(x, n);
}

extern "C" __global__ void steps_in_a_loop(float *x, int n, int steps) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float value = x[i];
  for (int step = 0; step < steps; ++step) value = 0.5f * value + 1.0f;
  x[i] = value;
}
