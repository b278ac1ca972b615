// A structure passed by value, changed or read in place.
//
// Expect: settings_changed copies the structure to local memory, because its elements are
// changed. settings_read declares it __grid_constant__ and reads it where it is.

struct Settings {
  float gain;
  int order[20];
  float bias;
};

extern "C" __global__ void settings_changed(Settings settings, const int *x, float *y, int n) {
  for (int i = 0; i < n; ++i) settings.order[x[i]] += i;
  y[threadIdx.x] = settings.gain * settings.order[x[threadIdx.x]] + settings.bias;
}

extern "C" __global__ void settings_read(const __grid_constant__ Settings settings, const int *x,
                                         float *y, int n) {
  int at = x[threadIdx.x];
  int added = 0;
  for (int i = 0; i < n; ++i) added += x[i] == at ? i : 0;
  y[threadIdx.x] = settings.gain * (settings.order[at] + added) + settings.bias;
}
