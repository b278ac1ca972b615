// Elements and uses of many kinds, each in local memory: what advice is written for.
struct Cell { int count; float weight; };
struct Three { float x, y, z; };
union Word { float f; int i; };
struct Body { int id; float history[24]; };
typedef unsigned char Byte;

extern "C" __global__ void structs(const int *x, float *y, int n) {
  Cell cells[12];
  for (int i = 0; i < 12; ++i) cells[i] = {x[i], 1.0f};
  for (int i = 0; i < n; ++i) cells[x[i] % 12].count += i;
  for (int i = 0; i < 12; ++i) y[i] = cells[i].count * cells[i].weight;
}
extern "C" __global__ void threes(const int *x, float *y, int n) {
  Three points[10];
  for (int i = 0; i < 10; ++i) points[i] = {1.0f, float(x[i]), 2.0f};
  for (int i = 0; i < n; ++i) y[i] = points[x[i + 3] % 10].y;
}
extern "C" __global__ void unions(const int *x, int *y, int n) {
  Word words[10];
  for (int i = 0; i < 10; ++i) words[i].f = x[i] * 0.5f;
  for (int i = 0; i < n; ++i) words[x[i] % 10].f *= 2.0f;
  for (int i = 0; i < 10; ++i) y[i] = words[i].i;
}
extern "C" __global__ void members(const int *x, float *y, int n) {
  Body body;
  body.id = n;
  for (int i = 0; i < 24; ++i) body.history[i] = x[i];
  for (int i = 0; i < n; ++i) body.history[x[i] % 24] += 1.0f;
  for (int i = 0; i < 24; ++i) y[i] = body.history[i] + body.id;
}
extern "C" __global__ void two_d(const int *x, double *y, int n) {
  double m[4][5];
  for (int i = 0; i < 4; ++i) for (int j = 0; j < 5; ++j) m[i][j] = x[i * j];
  for (int i = 0; i < n; ++i) m[x[i] & 3][x[i + 1] % 5] += 1.0;
  for (int i = 0; i < 4; ++i) for (int j = 0; j < 5; ++j) y[i * 5 + j] = m[i][j];
}
extern "C" __global__ void chars(const int *x, int *y, int n) {
  Byte flags[32];
  for (int i = 0; i < 32; ++i) flags[i] = x[i];
  for (int i = 0; i < n; ++i) {
    unsigned seen = flags[x[i] & 31];
    y[i] = seen;
  }
}
extern "C" __global__ void halves(const int *x, short *y, int n) {
  short kept[20];
  for (int i = 0; i < 20; ++i) kept[i] = 0;
  int top = 0;
  for (int i = 0; i < n; ++i)
    if (x[i] > 3 && top < 20) kept[top++] = x[i];
  for (int i = 0; i < 20; ++i) y[i] = kept[i];
}
extern "C" __global__ void pointers(float **x, const int *at, float *y, int n) {
  float *rows[8];
  for (int i = 0; i < 8; ++i) rows[i] = x[i * 2];
  for (int i = 0; i < n; ++i) y[i] = rows[at[i] & 7][i];
}
extern "C" __global__ void run_bound(const float *x, float *y, int n) {
  float row[16];
  for (int i = 0; i < n; ++i) row[i] = x[i];
  float sum = 0;
#pragma unroll 1
  for (int i = 0; i < n; ++i) sum += row[i] * x[i + 1];
  y[threadIdx.x] = sum;
}
extern "C" __global__ void table(const int *x, float *y, int n) {
  const float coefficients[12] = {1.5f, 2.5f, 3.25f, 4.f, 5.f, 6.f, 7.f, 8.f, 9.f, 10.f, 11.f, 12.75f};
  float sum = 0;
  for (int i = 0; i < n; ++i) sum += coefficients[x[i] % 12];
  y[0] = sum;
}
extern "C" __global__ void by_lane(const int *x, float *y, int n) {
  const float lanes[12] = {1.5f, 2.5f, 3.25f, 4.f, 5.f, 6.f, 7.f, 8.f, 9.f, 10.f, 11.f, 12.75f};
  y[threadIdx.x] = lanes[x[threadIdx.x] % 12];
}
struct Settings { float scale; int order[20]; };
extern "C" __global__ void settings_read(Settings settings, const int *x, float *y) {
  y[threadIdx.x] = settings.scale * settings.order[x[threadIdx.x] % 20];
}
extern "C" __global__ void sine(const double *x, double *y, double w) {
  y[threadIdx.x] = sin(w * x[threadIdx.x] + 1.0);
}
extern "C" __global__ void sine_f(const float *x, float *y, float w, int n) {
  for (int i = 0; i < n; ++i) y[i] += sinf(6.2831853f * w * x[i]);
}
extern "C" __global__ void __launch_bounds__(256) bounded(const int *data, unsigned *y, int n) {
  unsigned bins[64] = {};
  for (int i = threadIdx.x; i < n; i += blockDim.x) bins[data[i] & 63]++;
  for (int i = 0; i < 64; ++i) atomicAdd(&y[i], bins[i]);
}
extern "C" __global__ void __launch_bounds__(256) filled(const int *data, unsigned *y, int n) {
  unsigned many[40] = {};
  for (int i = threadIdx.x; i < n; i += blockDim.x) many[data[i] % 40]++;
  for (int i = 0; i < 40; ++i) atomicAdd(&y[i], many[i]);
}
