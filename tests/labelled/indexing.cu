// Labels, written before the classifier was run on them:
//   // expect: CAUSE [NAME]      one line per cause and object of the next kernel
//   // expect: clean | promoted  nothing in the end
// A callee's object counts for the kernel that reaches it.

// expect: dynamic-index window
extern "C" __global__ void moving_window(const float *x, float *y, int n) {
  float window[44] = {};
  for (int i = 0; i < n; ++i) {
    window[i % 44] = x[i];
    y[i] = window[(i + 9) % 44] + window[(i + 23) % 44];
  }
}

// expect: dynamic-index digit_counts
extern "C" __global__ void radix_digits(const unsigned *keys, unsigned *out, int n, int shift) {
  unsigned digit_counts[16] = {};
  for (int i = threadIdx.x; i < n; i += blockDim.x) digit_counts[(keys[i] >> shift) & 15]++;
  for (int d = 0; d < 16; ++d) out[d * blockDim.x + threadIdx.x] = digit_counts[d];
}

// expect: dynamic-index weights
extern "C" __global__ void by_lane(const double *x, double *y) {
  double weights[40];
  for (int i = 0; i < 40; ++i) weights[i] = x[i] * x[i + 1];
  y[threadIdx.x] = weights[(threadIdx.x * 7) % 40] + weights[threadIdx.x % 39];
}

// expect: dynamic-index row
extern "C" __global__ void by_parameter(const float *x, float *y, int which) {
  float row[50];
  for (int i = 0; i < 50; ++i) row[i] = x[i * 3] + x[i];
#pragma unroll 1
  for (int r = 0; r < which; ++r) row[(which + r * 7) % 50] += row[(which * r) % 50];
  for (int i = 0; i < 50; ++i) y[i * 32 + threadIdx.x] = row[i];
}

// expect: dynamic-index bytes
extern "C" __global__ void narrow(const unsigned char *x, unsigned char *y, int n) {
  unsigned char bytes[256];
  for (int i = 0; i < 256; ++i) bytes[i] = (unsigned char)i;
  for (int i = 0; i < n; ++i) {
    unsigned char t = bytes[x[i]];
    bytes[x[i]] = bytes[x[i + n]];
    bytes[x[i + n]] = t;
  }
  for (int i = 0; i < 256; ++i) y[i * blockDim.x + threadIdx.x] = bytes[i];
}

// expect: dynamic-index halves
extern "C" __global__ void shorts(const short *x, short *y, int n) {
  short halves[100] = {};
  for (int i = 0; i < n; ++i) halves[x[i]] += x[i + 1];
  for (int i = 0; i < 100; ++i) y[i] = halves[i];
}

// expect: dynamic-index quads
extern "C" __global__ void vectors(const float4 *x, float4 *y, const int *order) {
  float4 quads[20];
  for (int i = 0; i < 20; ++i) quads[i] = x[i * 32 + threadIdx.x];
  for (int i = 0; i < 20; ++i) y[i] = quads[order[i]];
}

// expect: dynamic-index stack
extern "C" __global__ void explicit_stack(const int *left, const int *right, int *out, int root) {
  int stack[64];
  int top = 0, sum = 0;
  stack[top++] = root;
  while (top > 0) {
    int node = stack[--top];
    sum += node;
    if (left[node] >= 0) stack[top++] = left[node];
    if (right[node] >= 0) stack[top++] = right[node];
  }
  out[threadIdx.x] = sum;
}

// expect: dynamic-index kept
extern "C" __global__ void compaction(const float *x, float *y, int *count) {
  float kept[32];
  int n = 0;
#pragma unroll 1
  for (int i = 0; i < 32; ++i)
    if (x[i * 32 + threadIdx.x] > 0.0f) kept[n++] = x[i * 32 + threadIdx.x];
#pragma unroll 1
  for (int i = 0; i < n; ++i) y[i * 32 + threadIdx.x] = kept[i];
  count[threadIdx.x] = n;
}

// expect: dynamic-index matrix
extern "C" __global__ void two_dimensions(const float *x, float *y, int r, int c) {
  float matrix[6][8];
  for (int i = 0; i < 6; ++i)
    for (int j = 0; j < 8; ++j) matrix[i][j] = x[i * 64 + j * 8] * 2.0f;
#pragma unroll 1
  for (int k = 0; k < r * c; ++k) matrix[(c + k) % 6][(r + k) % 8] += matrix[k % 6][c % 8];
  for (int i = 0; i < 48; ++i) y[i] = matrix[i / 8][i % 8] + matrix[r % 6][c % 8];
}

// expect: dynamic-index first
// expect: dynamic-index second
extern "C" __global__ void same_size_twice(const int *x, int *y, int n) {
  int first[32] = {};
  int second[32] = {};
  for (int i = 0; i < n; ++i) {
    first[x[i] & 31] += x[i + 1];
    second[x[i + 2] & 31] -= x[i + 3];
  }
  for (int i = 0; i < 32; ++i) {
    y[i] = first[i];
    y[i + 32] = second[i];
  }
}

// expect: dynamic-index a
// expect: dynamic-index b
// expect: dynamic-index c
extern "C" __global__ void three_sizes(const float *x, float *y, int k) {
  float a[33], b[47];
  double c[21];
  for (int i = 0; i < 33; ++i) a[i] = x[i] * 3.0f;
  for (int i = 0; i < 47; ++i) b[i] = x[i] + 3.0f;
  for (int i = 0; i < 21; ++i) c[i] = x[i] - 3.0;
  y[threadIdx.x] = a[k] + b[k + 1] + (float)c[k + 2];
}

// expect: rolled-loop samples
extern "C" __global__ void rolled(const float *x, float *y) {
  float samples[48];
#pragma unroll 1
  for (int i = 0; i < 48; ++i) samples[i] = x[i * 32 + threadIdx.x];
  float best = samples[0];
#pragma unroll 1
  for (int i = 1; i < 48; ++i) best = fmaxf(best * 0.5f, samples[i]);
#pragma unroll 1
  for (int i = 0; i < 48; ++i) y[i * 32 + threadIdx.x] = samples[i] / best;
}

// expect: rolled-loop sorted
extern "C" __global__ void bubble(const int *x, int *y) {
  int sorted[20];
#pragma unroll 1
  for (int i = 0; i < 20; ++i) sorted[i] = x[i * 32 + threadIdx.x];
#pragma unroll 1
  for (int i = 0; i < 19; ++i)
#pragma unroll 1
    for (int j = 0; j < 19; ++j)
      if (sorted[j] > sorted[j + 1]) {
        int t = sorted[j];
        sorted[j] = sorted[j + 1];
        sorted[j + 1] = t;
      }
#pragma unroll 1
  for (int i = 0; i < 20; ++i) y[i * 32 + threadIdx.x] = sorted[i];
}

// expect: large-array history
extern "C" __global__ void long_history(const float *x, float *y) {
  float history[2000];
#pragma unroll 1
  for (int i = 0; i < 2000; ++i) history[i] = x[i * 32 + threadIdx.x];
  float s = 0;
#pragma unroll 1
  for (int i = 1999; i >= 0; --i) {
    s = s * 0.5f + history[i];
    y[i * 32 + threadIdx.x] = s;
  }
}

// expect: const-table coefficients
extern "C" __global__ void table(const int *x, float *y) {
  float coefficients[45];
#pragma unroll
  for (int i = 0; i < 45; ++i) coefficients[i] = 0.37f * i * i - 1.5f;
  float s = 0;
#pragma unroll 1
  for (int i = 0; i < x[0]; ++i) s += coefficients[x[i + threadIdx.x] % 45];
  y[threadIdx.x] = s;
}

// expect: clean
extern "C" __global__ void unrolled(const float *x, float *y) {
  float v[16];
#pragma unroll
  for (int i = 0; i < 16; ++i) v[i] = x[i * 32 + threadIdx.x];
#pragma unroll
  for (int i = 0; i < 16; ++i) y[i * 32 + threadIdx.x] = v[15 - i];
}

// expect: promoted
extern "C" __global__ void small_selected(const float *x, float *y, int k) {
  float few[4];
  for (int i = 0; i < 4; ++i) few[i] = x[i * 7] * 2.0f;
  y[threadIdx.x] = few[k];
}
