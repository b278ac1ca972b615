"""Cycles of a multiprocessor that a warp's read of a table of constants takes, by where it is.

    python benchmarks/lane_table.py > benchmarks/data/lane_table.json

Needs a GPU and CuPy. Each lane reads elements of a table of 32 floats at random: a copy of its own
in local memory, one in device memory (`static const`), one in shared memory, one of which each lane
holds an element in a register and hands it over (`__shfl_sync`). The kernels differ in the read
alone, and their sums are compared.
"""

from __future__ import annotations

import json
from typing import Any

THREADS, WORDS, ROUNDS = 256, 32, 2048
WARPS = (8, 16, 32, 64)
"""Of a multiprocessor."""
WAYS = ("local", "static", "shared", "shuffle")

SOURCE = """\
#define VALUES \\
  1.5f, 7.25f, 3.0f, 0.5f, 2.25f, 9.0f, 4.5f, 6.75f, 8.0f, 1.25f, 5.5f, 2.0f, 7.5f, 3.25f, 0.75f, \\
  6.0f, 4.25f, 8.5f, 2.75f, 5.0f, 9.5f, 1.0f, 3.75f, 7.0f, 0.25f, 6.5f, 4.0f, 8.25f, 2.5f, 5.75f, \\
  9.25f, 1.75f
extern "C" __global__ void k(float *out, long long *cycles, const unsigned *seeds, int rounds) {
#if defined(LOCAL)
  const float table[32] = {VALUES};
#define at(i) table[i]
#elif defined(STATIC)
  static const float table[32] = {VALUES};
#define at(i) table[i]
#else
  static const float values[32] = {VALUES};
#if defined(SHARED)
  __shared__ float table[32];
  if (threadIdx.x < 32) table[threadIdx.x] = values[threadIdx.x];
#define at(i) table[i]
#else
  const float own = values[threadIdx.x % 32];
#define at(i) __shfl_sync(0xffffffffu, own, i)
#endif
#endif
  unsigned state = seeds[blockIdx.x * blockDim.x + threadIdx.x];
  float total = 0.0f;
  __syncthreads();
  long long began = clock64();
#pragma unroll 1
  for (int round = 0; round < rounds; ++round) {
#pragma unroll
    for (int step = 0; step < 4; ++step) {
      total += at((state >> (5 * step)) & 31u);
    }
    state = state * 1664525u + 1013904223u;
  }
  __syncthreads();
  cycles[blockIdx.x] = clock64() - began;
  out[blockIdx.x * blockDim.x + threadIdx.x] = total;
}
"""


def main() -> None:
    """Print the document."""
    import cupy

    properties = cupy.cuda.runtime.getDeviceProperties(0)
    multiprocessors = int(properties["multiProcessorCount"])
    rows: list[dict[str, Any]] = []
    for warps in WARPS:
        blocks = multiprocessors * warps * 32 // THREADS
        seeds = cupy.random.RandomState(7).randint(0, 2**31, blocks * THREADS).astype("uint32")
        expected = None
        for way in WAYS:
            kernel = cupy.RawKernel(SOURCE, "k", options=(f"-D{way.upper()}",))
            out = cupy.empty(blocks * THREADS, cupy.float32)
            cycles = cupy.empty(blocks, cupy.int64)
            best = None
            for _ in range(5):
                kernel((blocks,), (THREADS,), (out, cycles, seeds, ROUNDS))
                taken = float(cupy.median(cycles))
                best = taken if best is None else min(best, taken)
            assert best is not None
            found = out.get()
            if expected is None:
                expected = found
            assert (found == expected).all(), way
            reads = ROUNDS * 4 * warps
            row = {"way": way, "warps": warps, "cycles_per_read": round(best / reads, 3)}
            rows.append(row | {"local_bytes": kernel.local_size_bytes})
    name = properties["name"].decode()
    print(json.dumps({"device": name, "words": WORDS, "rows": rows}, indent=1))


if __name__ == "__main__":
    main()
