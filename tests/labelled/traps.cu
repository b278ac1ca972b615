// Labels as in indexing.cu: what is easily taken for something else.

// expect: dynamic-index queue
extern "C" __global__ void breadth_first(const int *edges, int *out, int n) {
  int queue[40];
  int head = 0, tail = 0;
  queue[tail++] = threadIdx.x;
#pragma unroll 1
  while (head < tail && tail < 39) {
    int node = queue[head++];
    for (int e = 0; e < 3; ++e)
      if (edges[node * 3 + e] > n && tail < 40) queue[tail++] = edges[node * 3 + e];
  }
  out[threadIdx.x] = queue[tail / 2] + tail;
}

// expect: dynamic-index held
extern "C" __global__ void shuffled(const float *x, float *y, int n) {
  float held[33];
  for (int i = 0; i < 33; ++i) held[i] = x[i * 32 + threadIdx.x];
#pragma unroll 1
  for (int i = 0; i < n; ++i) {
    int from = __shfl_xor_sync(0xffffffffu, (int)held[i % 33], 1);
    held[from & 31] += 1.0f;
  }
  for (int i = 0; i < 33; ++i) y[i * 32 + threadIdx.x] = held[i];
}

union Word {
  float numbers[24];
  unsigned bits[24];
};

// expect: dynamic-index word.numbers
extern "C" __global__ void punned(const float *x, unsigned *y, int n) {
  Word word;
  for (int i = 0; i < 24; ++i) word.numbers[i] = x[i];
#pragma unroll 1
  for (int i = 0; i < n; ++i) word.numbers[(i * n) % 24] *= 2.0f;
  for (int i = 0; i < 24; ++i) y[i] = word.bits[i];
}

// expect: dynamic-index copied
extern "C" __global__ void cast_wider(const int4 *x, int *y, int n) {
  int copied[32];
  for (int i = 0; i < 8; ++i) reinterpret_cast<int4 *>(copied)[i] = x[i];
#pragma unroll 1
  for (int i = 0; i < n; ++i) copied[(copied[i & 31] + i) & 31] += i;
  for (int i = 0; i < 32; ++i) y[i] = copied[i];
}

// expect: dynamic-index old_values
// expect: dynamic-index new_values
extern "C" __global__ void swapped_pointers(const float *x, float *y, int n) {
  float old_values[20], new_values[36];
  for (int i = 0; i < 20; ++i) old_values[i] = x[i];
  for (int i = 0; i < 36; ++i) new_values[i] = x[i] * 0.5f;
#pragma unroll 1
  for (int i = 0; i < n; ++i) {
    old_values[(i * 3) % 20] += new_values[(i * 5) % 36];
    new_values[(i * 7) % 36] -= old_values[(i * 11) % 20];
  }
  for (int i = 0; i < 20; ++i) y[i] = old_values[i];
  for (int i = 0; i < 36; ++i) y[i + 20] = new_values[i];
}

// expect: rolled-loop row
extern "C" __global__ void early_exit(const float *x, float *y) {
  float row[40];
#pragma unroll 1
  for (int i = 0; i < 40; ++i) row[i] = x[i * 32 + threadIdx.x];
  float s = 0;
#pragma unroll 1
  for (int i = 0; i < 40; ++i) {
    if (row[i] < 0.0f) break;
    s += row[i];
  }
  y[threadIdx.x] = s;
}

// expect: dynamic-index picked
extern "C" __global__ void selected_index(const float *x, float *y, int a, int b, int n) {
  float picked[30];
  for (int i = 0; i < 30; ++i) picked[i] = x[i];
#pragma unroll 1
  for (int i = 0; i < n; ++i) picked[x[i] > 0.0f ? a : b] += x[i];
  for (int i = 0; i < 30; ++i) y[i] = picked[i];
}

// expect: dynamic-index local_printf_like
extern "C" __global__ void named_like_others(const int *x, int *y, int n) {
  int local_printf_like[21] = {};
  for (int i = 0; i < n; ++i) local_printf_like[x[i] % 21] += i;
  for (int i = 0; i < 21; ++i) y[i] = local_printf_like[i];
}

__device__ __noinline__ int table_sum(const int *values, int n) {
  int s = 0;
  for (int i = 0; i < n; ++i) s += values[i];
  return s;
}

// expect: address-taken mine
// expect: dynamic-index other
extern "C" __global__ void one_passed_one_indexed(const int *x, int *y, int n) {
  int mine[10], other[29];
  for (int i = 0; i < 10; ++i) mine[i] = x[i];
  for (int i = 0; i < 29; ++i) other[i] = x[i] * x[i];
#pragma unroll 1
  for (int i = 0; i < n; ++i) other[(i * n) % 29] ^= i;
  int s = table_sum(mine, 10);
  for (int i = 0; i < 29; ++i) s += other[i] * i;
  y[threadIdx.x] = s;
}

// expect: register-spill
// expect: printf-args
extern "C" __global__ void __launch_bounds__(1024, 2) spills_and_prints(float *x, int n) {
  float v[80];
#pragma unroll
  for (int i = 0; i < 80; ++i) v[i] = x[i * 1024 + threadIdx.x];
  for (int r = 0; r < n; ++r)
#pragma unroll
    for (int i = 0; i < 80; ++i) v[i] = v[i] * v[(i + 7) % 80] + v[(i + 31) % 80];
  if (v[3] > 1e30f) printf("large %f\n", v[3]);
#pragma unroll
  for (int i = 0; i < 80; ++i) x[i * 1024 + threadIdx.x] = v[i];
}

struct Random {
  unsigned state[6];
  __device__ unsigned next() {
    unsigned t = state[5] ^ (state[5] >> 2);
#pragma unroll
    for (int i = 5; i > 0; --i) state[i] = state[i - 1];
    state[0] = t ^ (t << 1);
    return t + state[0];
  }
};

// expect: clean
extern "C" __global__ void generator_in_registers(const Random *states, unsigned *y, int n) {
  Random random = states[threadIdx.x];
  unsigned s = 0;
  for (int i = 0; i < n; ++i) s += random.next();
  y[threadIdx.x] = s;
}

// expect: const-table squares
extern "C" __global__ void table_by_loop(const int *x, int *y, int n) {
  int squares[50];
#pragma unroll 1
  for (int i = 0; i < 50; ++i) squares[i] = i * i + 7;
  int s = 0;
#pragma unroll 1
  for (int i = 0; i < n; ++i) s += squares[x[i] % 50];
  y[threadIdx.x] = s;
}

// expect: dynamic-index zeroed
extern "C" __global__ void zeroed_then_counted(const int *x, int *y, int n) {
  int zeroed[50];
#pragma unroll 1
  for (int i = 0; i < 50; ++i) zeroed[i] = 0;
#pragma unroll 1
  for (int i = 0; i < n; ++i) zeroed[x[i] % 50] = 1;
  for (int i = 0; i < 50; ++i) y[i] = zeroed[i];
}
