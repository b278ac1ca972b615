"""Cycles of a multiprocessor that a warp's access of local or shared memory takes.

    python benchmarks/local_access.py > benchmarks/data/local_access.json

Needs a GPU and CuPy. Each thread goes round an array of its own; all lanes begin at one word, each
at another, or where random numbers say, and move on alike, so that the kernels are the same and
only the lines differ that an access touches. The last of the patterns has four lanes of 32 active.
"""

from __future__ import annotations

import json
from typing import Any

THREADS, WARP, ROUNDS, STEPS = 256, 32, 64, 8
WORDS = (4, 8, 16, 32, 64)
WARPS = (8, 16, 32, 64)
"""Of a multiprocessor."""

SOURCE = """\
extern "C" __global__ void k(float *out, long long *cycles, const int *given, int rounds) {
#if SHARED
  __shared__ float space[WORDS][256];
#define at(i) space[i][threadIdx.x]
#else
  float space[WORDS];
#define at(i) space[i]
#endif
  int index = given[threadIdx.x];
  bool active = index >= 0;
  index &= WORDS - 1;
#pragma unroll 1
  for (int i = 0; i < WORDS; ++i) at(i) = i * 0.5f;
  float total = 0.0f;
  __syncthreads();
  long long began = clock64();
  if (active) {
#pragma unroll 1
    for (int round = 0; round < rounds; ++round) {
#pragma unroll
      for (int step = 0; step < 8; ++step) {
#if STORES
        at(index) = total;
        total += 0.25f;
#else
        total += at(index);
#endif
        index = (index + 1) & (WORDS - 1);
      }
    }
  }
  __syncthreads();
  cycles[blockIdx.x] = clock64() - began;
#if STORES
  for (int i = 0; i < WORDS; ++i) total += at(i);
#endif
  out[blockIdx.x * blockDim.x + threadIdx.x] = total;
}
"""


def indices(words: int) -> dict[str, list[int]]:
    """Where the threads of a block begin, by pattern; what is below 0 takes no part."""
    state, random = 12345, []
    for _ in range(THREADS):
        state = (state * 1103515245 + 12345) & 0x7FFFFFFF
        random.append((state >> 16) % words)
    return {
        "one word": [0] * THREADS,
        "each another": [thread % words for thread in range(THREADS)],
        "random": random,
        "random, four lanes": [
            place if thread % 8 == 0 else -1 for thread, place in enumerate(random)
        ],
    }


def lines(places: list[int]) -> float:
    """Words that an access of a warp touches, the mean of a block's warps."""
    warps = [places[at : at + WARP] for at in range(0, THREADS, WARP)]
    return sum(len({one for one in warp if one >= 0}) for warp in warps) / len(warps)


def measure() -> dict[str, Any]:
    """Cycles for an access, by what is accessed how."""
    import cupy

    properties = cupy.cuda.runtime.getDeviceProperties(0)
    rows = []
    for words in WORDS:
        for space in ("local", "shared"):
            for access in ("loads", "stores"):
                options = (
                    f"-DWORDS={words}",
                    f"-DSHARED={int(space == 'shared')}",
                    f"-DSTORES={int(access == 'stores')}",
                )
                if space == "shared" and words * THREADS * 4 > 48 << 10:
                    continue
                kernel = cupy.RawModule(code=SOURCE, options=options).get_function("k")
                for pattern, places in indices(words).items():
                    taken = {}
                    for warps in WARPS:
                        blocks = properties["multiProcessorCount"] * warps * WARP // THREADS
                        given = cupy.asarray(places, dtype="int32")
                        out = cupy.zeros(blocks * THREADS, dtype="float32")
                        cycles = cupy.zeros(blocks, dtype="int64")
                        for _ in range(3):
                            kernel((blocks,), (THREADS,), (out, cycles, given, cupy.int32(ROUNDS)))
                        cupy.cuda.runtime.deviceSynchronize()
                        number = ROUNDS * STEPS * warps
                        taken[warps] = round(float(cupy.median(cycles)) / number, 3)
                    rows.append(
                        {
                            "words": words,
                            "space": space,
                            "access": access,
                            "pattern": pattern,
                            "lines": lines(places),
                            "cycles": taken,
                        }
                    )
    return {"device": properties["name"].decode(), "rows": rows}


if __name__ == "__main__":
    print(json.dumps(measure(), indent=1))
