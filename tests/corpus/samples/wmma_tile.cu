// Tensor cores by the WMMA interface.
#include <mma.h>
#include <cuda_fp16.h>

using namespace nvcuda;

__global__ void tile(const half *a, const half *b, float *c, int n) {
  wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> left;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> right;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
  wmma::fill_fragment(sum, 0.0f);
  for (int k = 0; k < n; k += 16) {
    wmma::load_matrix_sync(left, a + k, n);
    wmma::load_matrix_sync(right, b + k, n);
    wmma::mma_sync(sum, left, right, sum);
  }
  wmma::store_matrix_sync(c, sum, n, wmma::mem_row_major);
}

int main() { tile<<<1, 32>>>(nullptr, nullptr, nullptr, 16); }
