// CUB inside a kernel: block-wide sort and reduction with items in registers.
#include <cub/block/block_load.cuh>
#include <cub/block/block_radix_sort.cuh>
#include <cub/block/block_reduce.cuh>

template <int THREADS, int ITEMS>
__global__ void sort_tiles(const unsigned *in, unsigned *out) {
  using Load = cub::BlockLoad<unsigned, THREADS, ITEMS, cub::BLOCK_LOAD_TRANSPOSE>;
  using Sort = cub::BlockRadixSort<unsigned, THREADS, ITEMS>;
  __shared__ union {
    typename Load::TempStorage load;
    typename Sort::TempStorage sort;
  } scratch;
  unsigned keys[ITEMS];
  Load(scratch.load).Load(in + blockIdx.x * THREADS * ITEMS, keys);
  __syncthreads();
  Sort(scratch.sort).Sort(keys);
  for (int k = 0; k < ITEMS; ++k) out[(blockIdx.x * THREADS + threadIdx.x) * ITEMS + k] = keys[k];
}

__global__ void total(const float *in, float *out, int n) {
  using Reduce = cub::BlockReduce<float, 128>;
  __shared__ Reduce::TempStorage scratch;
  float own = 0;
  for (int i = threadIdx.x; i < n; i += 128) own += in[i];
  own = Reduce(scratch).Sum(own);
  if (threadIdx.x == 0) *out = own;
}

int main() {
  sort_tiles<128, 4><<<1, 128>>>(nullptr, nullptr);
  total<<<1, 128>>>(nullptr, nullptr, 0);
}
