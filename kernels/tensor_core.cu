// One 16x8x16 tile of a matrix product on the tensor cores, by mma.sync.
//
// Expect: no local memory at all. The fragments a, b and c are arrays, and that is fine: each
// index is a constant, so they are registers, as mma.sync demands.

extern "C" __global__ void tensor_core_tile(const unsigned *a_fragments,
                                            const unsigned *b_fragments, float *c_fragments,
                                            int tiles) {
  unsigned a[4], b[2];
  float c[4] = {0.0f, 0.0f, 0.0f, 0.0f};
  for (int tile = 0; tile < tiles; ++tile) {
#pragma unroll
    for (int i = 0; i < 4; ++i) a[i] = a_fragments[(tile * 4 + i) * 32 + threadIdx.x];
#pragma unroll
    for (int i = 0; i < 2; ++i) b[i] = b_fragments[(tile * 2 + i) * 32 + threadIdx.x];
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};\n"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  }
#pragma unroll
  for (int i = 0; i < 4; ++i) c_fragments[i * 32 + threadIdx.x] = c[i];
}
