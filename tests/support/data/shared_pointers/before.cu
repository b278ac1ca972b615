// What programs of served.txt and declined.txt call.
#define DONE(mx) ((mx) > 6)
__device__ void add(float *to, float x, int count) {
  for (int j = 0; j < count; ++j) *to++ += x;
}
__device__ void move(float *to, const float *from, int count) {
  while (count--) *to++ = *from++ + 1;
}
__device__ float total(const float *from, const float *end) {
  float s = 0;
  for (const float *at = from; at != end; ++at) s = s * 0.5f + *at;
  return s;
}
template <class T>
__device__ T least(T *from, int count) {
  T s = from[0];
  for (T *at = from + 1; at < from + count; ++at) s = min(s, *at);
  return s;
}
__device__ void outer(float *own, int count) {
  float *half = own + 5;
  add(half, 2, count % 9);
  for (int j = 0; j < 3; ++j) add(&own[j], j, 2);
}
__device__ void mix(float own[], const float *other) {
  for (int j = 0; j < 9; ++j) own[j] += other[j] * own[j + 1];
}
__device__ float &same(float &x) { return x; }
__device__ decltype(auto) same2(float &x) { return (x); }
__device__ auto same3(float &x) -> float & { return x; }
__device__ const float *at(const float *x) { return &x[1]; }
#define STEP ++qq
#define NEXT(mx) (&(mx))[1]
#define DECL(mx) const float *mx
#define FLOATS const float *
#define STAR *
#define PUSH(mx, mv) *mx++ = mv
#define AT(mx, mi) mx[mi]
struct Holder { const float *p; void set(const float *q) { p = q; } };
struct Fun { float operator()(const float *q) { return q[1]; } };
struct Two { float *x, *y; };
static const float *kept;
struct float4 { float x, y, z, w; };
inline Two pair(float *x, float *y) { return {x, y}; }
inline void swap_(float *&x, float *&y) { float *h = x; x = y; y = h; }
template <class T> void swap_any(T &x, T &y) { T h = x; x = y; y = h; }
__device__ float *where(float *x) { return x + 1; }
__device__ float next(float &x) { return (&x)[1]; }
__device__ void keep(float *x) { kept = x; }
__device__ float deep(float *x, int n) { return n ? deep(x + 1, n - 1) : *x; }
__device__ float swapped(float *x, const float *y) {
  const float *z = x;
  if (*x > 3) z = y;
  return *z;
}
__device__ void beside(float *x, float *y) {
  float *z = &y[1];
  z[1] = x[2];
  x[3] = (&y[2])[1];
}
__device__ float get(const float &x) { return x + 100; }
__device__ float get(float &x) { return x; }
__device__ float via(const float *x) { return get(x[1]) + 3 * get(*x) + 7 * get(x[2]); }
