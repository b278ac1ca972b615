// Small arrays with a run-time index that ptxas keeps in registers after all.
//
// Expect: the PTX of pick_of_four declares 16 bytes of local memory and reads them by index, and
// nothing of it is left in the machine code. A tool that reads PTX only reports it wrongly.

extern "C" __global__ void pick_of_four(const float *x, float *y, int which) {
  float few[4];
  for (int i = 0; i < 4; ++i) few[i] = x[i * 7] * 2.0f;
  y[threadIdx.x] = few[which];
}

extern "C" __global__ void pick_by_select(const float *x, float *y, int which) {
  float picked = 0.0f;
  for (int i = 0; i < 4; ++i) picked = i == which ? x[i * 7] * 2.0f : picked;
  y[threadIdx.x] = picked;
}
