// Kernels that a macro defines, one for each type.
#include <cstdint>
#include <cstdio>

#define DEFINE_COUNT(T, NAME)                                             \
  __global__ void count_##NAME(const T *in, unsigned *out, int n) {       \
    unsigned own[32] = {};                                                \
    for (int i = threadIdx.x; i < n; i += blockDim.x) ++own[in[i] & 31];  \
    for (int k = 0; k < 32; ++k) atomicAdd(out + k, own[k]);              \
  }

DEFINE_COUNT(std::uint8_t, u8)
DEFINE_COUNT(std::uint16_t, u16)
DEFINE_COUNT(std::int64_t, i64)

#define LAUNCH(NAME, GRID, BLOCK, ...) count_##NAME<<<GRID, BLOCK>>>(__VA_ARGS__)

int main() {
  LAUNCH(u8, 1, 64, nullptr, nullptr, 0);
  LAUNCH(u16, 1, 64, nullptr, nullptr, 0);
  LAUNCH(i64, 1, 64, nullptr, nullptr, 0);
  std::printf("%d\n", cudaDeviceSynchronize());
}
