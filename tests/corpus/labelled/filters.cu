// Filters over streams and images. Labels were proven with -DEXPERIMENT.

#ifdef EXPERIMENT
#define AT(run_time, constant) (constant)
#define ROLLED _Pragma("unroll")
#define FOR_UP_TO(i, limit, maximum) for (int i = 0; i < maximum; ++i) if (i < limit)
#else
#define AT(run_time, constant) (run_time)
#define ROLLED _Pragma("unroll 1")
#define FOR_UP_TO(i, limit, maximum) for (int i = 0; i < limit; ++i)
#endif

/* labels
[[find]]
cause = "dynamic-index"
object = "delay"
type = "float[24]"
size = 96
declared = "delay"
lines = ["delay_clear", "delay_put", "delay_get"]
primary = ["delay_put", "delay_get"]
index = ["[newest]", "[from]"]
sources = ["loop-counter run-time", "loop-counter constant"]
uniformity = "uniform"
*/
extern "C" __global__ void fir_ring(const float *x, const float *taps, float *y, int n) {
  float delay[24];  //@delay
#pragma unroll
  for (int t = 0; t < 24; ++t) delay[t] = 0.0f;  //@delay_clear
  int head = 0;
#pragma unroll 1
  for (int i = 0; i < n; ++i) {
    const int newest = AT(head, 3);
    delay[newest] = x[i * 128 + threadIdx.x];  //@delay_put
    float acc = 0.0f;
    int at = head;
    ROLLED
    for (int t = 0; t < 24; ++t) {
      const int from = AT(at, t);
      acc = fmaf(taps[t], delay[from], acc);  //@delay_get
      at = at == 0 ? 23 : at - 1;
    }
    y[i * 128 + threadIdx.x] = acc;
    head = head == 23 ? 0 : head + 1;
  }
}

__device__ __forceinline__ void order(float &a, float &b) {
  float low = fminf(a, b);
  b = fmaxf(a, b);
  a = low;
}

/* labels
clean = true
*/
extern "C" __global__ void median_3x3(const float *image, float *out, int width) {
  int x = blockIdx.x * blockDim.x + threadIdx.x + 1, y = blockIdx.y + 1;
  float p[9];
#pragma unroll
  for (int k = 0; k < 9; ++k) p[k] = image[(y + k / 3 - 1) * width + x + k % 3 - 1];
#pragma unroll
  for (int pass = 0; pass < 5; ++pass) {
#pragma unroll
    for (int k = 0; k < 8 - pass; ++k) order(p[k], p[k + 1]);
  }
  out[y * width + x] = p[4];
}

/* labels
[[find]]
cause = "dynamic-index"
object = "pixel"
type = "unsigned char[49]"
size = 49
declared = "pixel"
lines = ["pixel_compare", "pixel_shift", "pixel_place", "pixel_median"]
primary = ["pixel_compare", "pixel_shift", "pixel_place"]
index = ["[hole - 1]", "[hole]", "[place]"]
sources = ["loop-counter constant", "memory image", "memory pixel"]
optional = ["loop-counter run-time"]
uniformity = ["data-dependent", "uniform"]
*/
extern "C" __global__ void median_7x7(const unsigned char *image, unsigned char *out, int pitch) {
  unsigned char pixel[49];  //@pixel
  const unsigned char *corner = image + blockIdx.y * pitch + blockIdx.x * 64 + threadIdx.x;
  ROLLED
  for (int count = 0; count < 49; ++count) {
    unsigned char value = corner[count / 7 * pitch + count % 7];
    int hole = count;
#ifndef EXPERIMENT
    while (hole > 0 && pixel[hole - 1] > value) {  //@pixel_compare
      pixel[hole] = pixel[hole - 1];               //@pixel_shift
      --hole;
    }
#endif
    const int place = AT(hole, count);
    pixel[place] = value;  //@pixel_place
  }
  out[blockIdx.y * pitch + blockIdx.x * 64 + threadIdx.x] = pixel[24];  //@pixel_median
}

/* labels
[[find]]
cause = "dynamic-index"
object = "recent"
type = "double[64]"
size = 512
declared = "recent"
lines = ["recent", "recent_old", "recent_new"]
primary = ["recent_old", "recent_new"]
index = ["[slot]"]
sources = ["loop-counter run-time", "parameter window"]
uniformity = "uniform"
*/
extern "C" __global__ void moving_variance(const double *series, double *out, int length, int window) {
  double recent[64] = {};  //@recent
  double sum = 0.0, squares = 0.0;
  const int base = (blockIdx.x * blockDim.x + threadIdx.x) * length;
#pragma unroll 1
  for (int t = 0; t < length; ++t) {
    const double in = series[base + t];
    const int slot = AT(t % window, 7);
    const double gone = recent[slot];  //@recent_old
    recent[slot] = in;                 //@recent_new
    sum += in - gone;
    squares += in * in - gone * gone;
    out[base + t] = squares / window - (sum / window) * (sum / window);
  }
}

/* labels
[[find]]
cause = "rolled-loop"
object = "patch"
type = "float[7][7]"
size = 196
declared = "patch"
lines = ["patch_load", "patch_centre", "patch_use"]
primary = ["patch_rows", "patch_columns", "patch_sum_rows", "patch_sum_columns"]
index = ["[r][c]"]
sources = ["loop-counter constant"]
uniformity = "uniform"
*/
extern "C" __global__ void bilateral_7x7(const float *image, float *out, int width, float inverse) {
  float patch[7][7];  //@patch
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
  ROLLED
  for (int r = 0; r < 7; ++r) {  //@patch_rows
    ROLLED
    for (int c = 0; c < 7; ++c)                         //@patch_columns
      patch[r][c] = image[(y + r) * width + (x + c)];  //@patch_load
  }
  const float centre = patch[3][3];  //@patch_centre
  float weights = 0.0f, sum = 0.0f;
  ROLLED
  for (int r = 0; r < 7; ++r) {  //@patch_sum_rows
    ROLLED
    for (int c = 0; c < 7; ++c) {  //@patch_sum_columns
      const float value = patch[r][c];  //@patch_use
      const float apart = value - centre;
      const float w = __expf(-apart * apart * inverse - 0.1f * ((r - 3) * (r - 3) + (c - 3) * (c - 3)));
      weights += w;
      sum += w * value;
    }
  }
  out[y * width + x] = sum / weights;
}

/* labels
[[find]]
cause = "dynamic-index"
object = "deque"
type = "int[32]"
size = 128
declared = "deque"
lines = ["deque_last", "deque_push", "deque_first", "deque_front"]
primary = ["deque_last", "deque_push", "deque_first", "deque_front"]
index = ["[last]", "[back]", "[first]", "[front]"]
sources = ["memory x", "memory deque", "loop-counter run-time", "parameter window"]
uniformity = "data-dependent"
*/
extern "C" __global__ void sliding_minimum(const float *x, float *y, int n, int window) {
  int deque[32];  //@deque
  const float *row = x + (blockIdx.x * blockDim.x + threadIdx.x) * n;
  float *result = y + (blockIdx.x * blockDim.x + threadIdx.x) * n;
  int head = 0, tail = 0;
#pragma unroll 1
  for (int i = 0; i < n; ++i) {
    const float now = row[i];
#pragma unroll 1
    while (tail > head) {
      const int last = AT((tail - 1) & 31, 2);
      if (row[deque[last]] < now) break;  //@deque_last
      --tail;
    }
    const int back = AT(tail & 31, 2);
    deque[back] = i;  //@deque_push
    ++tail;
    const int first = AT(head & 31, 2);
    if (deque[first] <= i - window) ++head;  //@deque_first
    const int front = AT(head & 31, 2);
    result[i] = row[deque[front]];  //@deque_front
  }
}

/* labels
[[find]]
cause = "rolled-loop"
object = "signal"
type = "float[32]"
size = 128
declared = "signal"
lines = ["signal_load", "signal_pair", "signal_back", "signal_store"]
primary = ["signal_read", "signal_pairs", "signal_copy", "signal_write"]
index = ["[i]", "[2 * i]", "[2 * i + 1]"]
sources = ["loop-counter constant"]
uniformity = "uniform"
[[find]]
cause = "rolled-loop"
object = "lifted"
type = "float[32]"
size = 128
declared = "lifted"
lines = ["lifted_low", "lifted_high", "signal_back"]
primary = ["signal_levels", "signal_pairs", "signal_copy"]
index = ["[i]", "[half + i]"]
sources = ["loop-counter constant"]
uniformity = "uniform"
*/
extern "C" __global__ void haar_levels(const float *x, float *y) {
  float signal[32];  //@signal
  float lifted[32];  //@lifted
  ROLLED
  for (int i = 0; i < 32; ++i)                 //@signal_read
    signal[i] = x[i * 64 + threadIdx.x];       //@signal_load
  ROLLED
  for (int half = 16; half > 0; half >>= 1) {  //@signal_levels
    ROLLED
    FOR_UP_TO(i, half, 16) {                   //@signal_pairs
      const float a = signal[2 * i], b = signal[2 * i + 1];  //@signal_pair
      lifted[i] = (a + b) * 0.70710678f;         //@lifted_low
      lifted[half + i] = (a - b) * 0.70710678f;  //@lifted_high
    }
    ROLLED
    FOR_UP_TO(i, 2 * half, 32)  //@signal_copy
      signal[i] = lifted[i];    //@signal_back
  }
  ROLLED
  for (int i = 0; i < 32; ++i)              //@signal_write
    y[i * 64 + threadIdx.x] = signal[i];    //@signal_store
}

/* labels
[[find]]
cause = "const-table"
object = "phase_taps"
type = "short[36]"
size = 72
declared = "phase_taps"
lines = ["phase_build", "phase_low", "phase_high"]
primary = ["phase_low", "phase_high"]
index = ["[phase]", "[phase + 18]"]
sources = ["loop-counter run-time", "parameter step"]
uniformity = "uniform"
*/
extern "C" __global__ void resample(const short *x, int *y, int n, unsigned step) {
  short phase_taps[36];  //@phase_taps
#pragma unroll
  for (int k = 0; k < 36; ++k)
    phase_taps[k] = (short)(k * (35 - k) * 61 + 1000);  //@phase_build
  unsigned position = 0;
#pragma unroll 1
  for (int i = 0; i < n; ++i) {
    const unsigned phase = AT((position >> 8) % 18, 5);
    const short *in = x + (position >> 13) + threadIdx.x;
    y[i * 32 + threadIdx.x] = in[0] * phase_taps[phase]          //@phase_low
                              + in[1] * phase_taps[phase + 18];  //@phase_high
    position += step;
  }
}

/* labels
[[find]]
cause = "dynamic-index"
object = "bins"
type = "unsigned short[128]"
size = 256
declared = "bins"
lines = ["bins_clear", "bins_in", "bins_out", "bins_walk"]
primary = ["bins_in", "bins_out", "bins_walk"]
index = ["[enters]", "[leaves]", "[level++ & 127]"]
sources = ["memory image", "loop-counter run-time"]
uniformity = ["data-dependent", "uniform"]
*/
extern "C" __global__ void running_histogram_median(const unsigned char *image, unsigned char *out,
                                                    int pitch, int columns) {
  unsigned short bins[128];  //@bins
#pragma unroll
  for (int b = 0; b < 128; ++b) bins[b] = 0;  //@bins_clear
  const unsigned char *row = image + (blockIdx.x * blockDim.x + threadIdx.x) * pitch;
  unsigned char *result = out + (blockIdx.x * blockDim.x + threadIdx.x) * pitch;
#pragma unroll 1
  for (int c = 0; c < columns; ++c) {
    const int enters = AT(row[c + 16] >> 1, 9), leaves = AT(row[c] >> 1, 11);
    bins[enters]++;  //@bins_in
    bins[leaves]--;  //@bins_out
    int seen = 0, level = 0;
#ifdef EXPERIMENT
    seen = bins[17] + bins[9] + bins[11];
#else
#pragma unroll 1
    while (seen < 8) seen += bins[level++ & 127];  //@bins_walk
#endif
    result[c] = level + seen;
  }
}

struct Section {
  float z1, z2;
};

/* labels
[[find]]
cause = "dynamic-index"
object = "sections"
type = "Section[12]"
size = 96
declared = "sections"
lines = ["sections_clear", "sections_get", "sections_put"]
primary = ["sections_get", "sections_put"]
index = ["[s]"]
sources = ["loop-counter run-time"]
uniformity = "uniform"
*/
extern "C" __global__ void biquad_cascade(const float *x, float *y, const float *b, int n, int order) {
  Section sections[12];  //@sections
#pragma unroll
  for (int s = 0; s < 12; ++s) sections[s].z1 = sections[s].z2 = 0.0f;  //@sections_clear
#pragma unroll 1
  for (int i = 0; i < n; ++i) {
    float v = x[i * 32 + threadIdx.x];
#ifdef EXPERIMENT
#pragma unroll
    for (int s = 0; s < 12; ++s) {
#else
#pragma unroll 1
    for (int s = 0; s < order; ++s) {
#endif
      const float z1 = sections[s].z1, z2 = sections[s].z2;  //@sections_get
      const float w = v - b[0] * z1 - b[1] * z2;
      sections[s].z1 = w, sections[s].z2 = z1;  //@sections_put
      v = w + b[2] * z1 + b[3] * z2;
    }
    y[i * 32 + threadIdx.x] = v;
  }
}
