// Inline PTX: a carry chain, a cache hint, the lane.
#include <cstdint>

__device__ __forceinline__ unsigned lane() {
  unsigned value;
  asm("mov.u32 %0, %%laneid;" : "=r"(value));
  return value;
}

__global__ void add_wide(const uint32_t *a, const uint32_t *b, uint32_t *c) {
  uint32_t x[4], y[4], z[4];
  for (int k = 0; k < 4; ++k) {
    x[k] = a[threadIdx.x * 4 + k];
    y[k] = b[threadIdx.x * 4 + k];
  }
  asm("add.cc.u32 %0, %4, %8;\n\taddc.cc.u32 %1, %5, %9;\n\t"
      "addc.cc.u32 %2, %6, %10;\n\taddc.u32 %3, %7, %11;"
      : "=r"(z[0]), "=r"(z[1]), "=r"(z[2]), "=r"(z[3])
      : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]), "r"(y[2]), "r"(y[3]));
  for (int k = 0; k < 4; ++k) c[threadIdx.x * 4 + k] = z[k] + lane();
}

int main() { add_wide<<<1, 32>>>(nullptr, nullptr, nullptr); }
