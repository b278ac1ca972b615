// Kernels whose loads from local memory have one width and one kind of index each.

template <typename T, typename Index>
__device__ __forceinline__ void indexed(const T *in, T *out, int n, int k, Index index) {
  T array[64];
#pragma unroll 1
  for (int i = 0; i < 64; ++i) array[i] = in[i];
  T last = in[0];
#pragma unroll 1
  for (int i = 0; i < n; ++i) {
    last = array[index(i, k) & 63];
    out[(i & 3) * blockDim.x + threadIdx.x] = last;
  }
}

struct Uniform {
  __device__ int operator()(int i, int k) const { return i * k; }
};
struct Lane {
  __device__ int operator()(int i, int k) const { return threadIdx.x + i * k; }
};
struct Data {
  const int *order;
  __device__ int operator()(int i, int k) const { return order[i * 32 + (threadIdx.x & 31)] + k; }
};

#define KERNELS(suffix, T)                                                                       \
  extern "C" __global__ void uniform_##suffix(const T *in, T *out, int n, int k, const int *o) { \
    indexed(in, out, n, k, Uniform());                                                           \
  }                                                                                              \
  extern "C" __global__ void lane_##suffix(const T *in, T *out, int n, int k, const int *o) {    \
    indexed(in, out, n, k, Lane());                                                              \
  }                                                                                              \
  extern "C" __global__ void data_##suffix(const T *in, T *out, int n, int k, const int *o) {    \
    indexed(in, out, n, k, Data{o});                                                             \
  }

KERNELS(1, unsigned char)
KERNELS(4, float)
KERNELS(8, double)
KERNELS(16, float4)

template <typename T, int N>
__device__ __forceinline__ void spilling(const T *in, T *out, int n) {
  T v[N];
#pragma unroll
  for (int i = 0; i < N; ++i) v[i] = in[i * 32 + (threadIdx.x & 31)];
#pragma unroll 1
  for (int r = 0; r < n; ++r)
#pragma unroll
    for (int i = 0; i < N; ++i) v[i] = v[i] * v[(i + 7) % N] + v[(i + 13) % N];
#pragma unroll
  for (int i = 0; i < N; ++i) out[(i & 3) * blockDim.x + threadIdx.x] += v[i];
}

extern "C" __global__ void __launch_bounds__(1024, 2)
    spill_4(const float *in, float *out, int n, int k, const int *o) {
  spilling<float, 60>(in, out, n);
}
extern "C" __global__ void __launch_bounds__(1024, 2)
    spill_8(const double *in, double *out, int n, int k, const int *o) {
  spilling<double, 30>(in, out, n);
}
