// Kernels that between them contain every form of LDL and STL: widths 1 to 16, signed and not,
// uniform and per-thread addresses, predicates, spills, inlined and called functions, recursion.
struct P { float tag[16]; int n; };
__device__ __forceinline__ float leaf(const float* w, int k) {
  float acc[8];
  for (int i = 0; i < 8; ++i) acc[i] = w[i] * 2.f;
  return acc[k & 7];
}
__device__ __forceinline__ float mid(const float* w, int k) {
  return leaf(w, k + 1) + leaf(w + 8, k);
}
__device__ __noinline__ float outer(const float* w, int k) {
  float big[40];
  for (int i = 0; i < 40; ++i) big[i] = w[i];
  return mid(w, k) + big[k % 40];
}
extern "C" __global__ void kern(const float* w, float* y, const int* idx, P p) {
  int k = idx[threadIdx.x];
  unsigned char c[64];
  for (int i = 0; i < 64; ++i) c[i] = idx[i];
  double d[20];
  for (int i = 0; i < 20; ++i) d[i] = w[i];
  float4 q[30];
  for (int i = 0; i < 30; ++i) q[i] = make_float4(w[i], w[i+1], w[i+2], w[i+3]);
  p.tag[k & 15] += 1;
  float u[50];
  for (int i = 0; i < 50; ++i) u[i] = w[i] ;
  y[threadIdx.x] = mid(w, k) + outer(w, k) + c[k] + d[k] + q[k].x + p.tag[p.n] + u[blockIdx.x];
}
__global__ void __launch_bounds__(1024, 2) dbl(double* x, int n) {
  double a[30];
  for (int i = 0; i < 30; ++i) a[i] = x[threadIdx.x + i * 1024];
  for (int k = 0; k < n; ++k)
   for (int i = 0; i < 30; ++i) a[i] = a[i] * a[(i + 7) % 30] + a[(i + 13) % 30];
  for (int i = 0; i < 30; ++i) x[threadIdx.x + i * 1024] = a[i];
}
__device__ int fib(int n) { return n < 2 ? n : fib(n-1) + fib(n-2); }
__global__ void rec(int* y, int n) { y[threadIdx.x] = fib(n); }
__global__ void dsin(double* y) { y[threadIdx.x] = sin(y[threadIdx.x]); }
__global__ void pr(int n) { printf("hello %d\n", n); }
extern "C" __global__ void uni(float* y, int n, int m) {
  float a[300];
  for (int i = 0; i < 300; ++i) a[i] = y[i * m];
  float s = 0;
  for (int i = 0; i < n; ++i) s += a[(i * m) % 300];
  y[threadIdx.x] = s;
}
extern "C" __global__ void chars(signed char* y, unsigned char*z, short* w, int n, int m) {
  signed char a[300]; unsigned char b[300]; short c[300]; unsigned short d[300]; double e[300]; float4 f[300];
  for (int i = 0; i < 300; ++i) {a[i] = y[i * m]; b[i]=z[i*m]; c[i]=w[i*m]; d[i]=w[i*m+1]; e[i]=w[i*m+2]; f[i]=make_float4(w[i+3],w[i+4],w[i+5],w[i+9]);}
  float s = 0;
  for (int i = 0; i < n; ++i) s += a[(i * m) % 300]+b[(i * m) % 300]+c[(i * m) % 300]+d[(i * m) % 300]+e[(i * m) % 300]+f[(i * m) % 300].x+f[(i * m) % 300].y+f[(i * m) % 300].z+f[(i * m) % 300].w;
  y[threadIdx.x] = s;
}
