// Greedy schedule on six machines: always the one that is free first.
extern "C" __global__ void schedule_slots(const float *jobs, float *out, int n, int count) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= n) return;
  float busy[6] = {};
  for (int j = 0; j < count; ++j) {
    int m = 0;
    for (int i = 1; i < 6; ++i) if (busy[i] < busy[m]) m = i;
    busy[m] += jobs[j * n + t];
  }
  float last = 0;
  for (int i = 0; i < 6; ++i) last = fmaxf(last, busy[i]);
  out[t] = last;
}
