"""Cycles that instructions and branches take in loops of growing code.

    python benchmarks/instruction_fetch.py > benchmarks/data/instruction_fetch.json

Needs a GPU and CuPy. A loop of independent FFMA instructions, of 16 bytes each, runs with 1 to 16
warps on each scheduler of every multiprocessor; what a scheduler needs for an instruction would be
one cycle, were all code at hand. All warps run the same loop, each at its own pace. A second loop
has a branch over every eighth instruction: no lane takes it, all do, or each lane as random bits of
its own say.
"""

from __future__ import annotations

import json
from typing import Any

INSTRUCTION, SCHEDULERS, WARP = 16, 4, 32
KILOBYTES = (
    2,
    4,
    8,
    12,
    16,
    20,
    24,
    28,
    32,
    36,
    40,
    48,
    56,
    64,
    80,
    96,
    112,
    120,
    128,
    144,
    160,
    192,
    256,
)
WARPS = (1, 2, 4, 8, 16)
"""Of each scheduler."""
CHAINS, ROUNDS, STEP = 8, 40, 8
BRANCHED = {"none": 0, "all": 0xFFFFFFFF, "random": None}


def source(instructions: int) -> str:
    """A kernel whose loop has so many multiplications and additions."""
    parameters = ", ".join(f"float a{k}" for k in range(CHAINS))
    body = "".join(
        f'    asm volatile("fma.rn.f32 %0, %0, %1, %1;" : "+f"(a{k % CHAINS}) : "f"(b));\n'
        for k in range(instructions)
    )
    total = " + ".join(f"a{k}" for k in range(CHAINS))
    return (
        f'extern "C" __global__ void loop(float *out, long long *cycles, int rounds, float b) {{\n'
        f"  {parameters.replace(', ', ' = b; ')} = b;\n"
        "  long long began = clock64();\n#pragma unroll 1\n"
        f"  for (int i = 0; i < rounds; ++i) {{\n{body}  }}\n"
        "  long long taken = clock64() - began;\n"
        f"  out[blockIdx.x * blockDim.x + threadIdx.x] = {total};\n"
        "  if (threadIdx.x == 0) cycles[blockIdx.x] = taken;\n}\n"
    )


def branches(instructions: int) -> str:
    """A kernel whose loop branches over eight instructions of ten as bits of each lane say."""
    body = "".join(
        '    asm volatile("{ .reg .pred p; .reg .b32 bit; and.b32 bit, %1, '
        f"{1 << k % 32}; setp.ne.u32 p, bit, 0; @p bra over;"
        + "fma.rn.f32 %0, %0, %2, %2;" * STEP
        + f' over: }}" : "+f"(a{k % CHAINS}) : "r"(bits), "f"(b));\n'
        for k in range(instructions // (STEP + 2))
    )
    # The bits are read from memory, so that nothing is known of them.
    return (
        source(0)
        .replace("float b)", "float b, const unsigned *given)")
        .replace("long long began", "unsigned bits = given[threadIdx.x];\n  long long began")
        .replace("++i) {\n", "++i) {\n" + body)
    )


def measure() -> dict[str, Any]:
    """Cycles of a scheduler for an instruction, by kilobytes of code and warps."""
    import cupy

    properties = cupy.cuda.runtime.getDeviceProperties(0)
    multiprocessors = properties["multiProcessorCount"]
    bits = {
        name: cupy.full(512, value, dtype="uint32")
        if value is not None
        else cupy.random.RandomState(7).randint(0, 1 << 32, 512, dtype="uint32")
        for name, value in BRANCHED.items()
    }

    def cycles(kernel: Any, instructions: int, warps: int, *more: Any) -> float:
        # Blocks of 16 warps at most: several of them share a multiprocessor.
        threads = min(warps * SCHEDULERS * WARP, 512)
        blocks = multiprocessors * warps * SCHEDULERS * WARP // threads
        out = cupy.zeros(blocks * threads, dtype="float32")
        taken = cupy.zeros(blocks, dtype="int64")
        arguments = (out, taken, cupy.int32(ROUNDS), cupy.float32(0.5), *more)
        for _ in range(3):
            kernel((blocks,), (threads,), arguments)
        cupy.cuda.runtime.deviceSynchronize()
        return round(float(cupy.max(taken)) / (ROUNDS * instructions * warps), 3)

    rows = []
    for size in KILOBYTES:
        instructions = size * 1024 // INSTRUCTION
        plain = cupy.RawKernel(source(instructions), "loop")
        branched = cupy.RawKernel(branches(instructions), "loop")
        row = {"plain": {n: cycles(plain, instructions, n) for n in WARPS}}
        for name, given in bits.items():
            row[name] = {n: cycles(branched, instructions, n, given) for n in WARPS}
        rows.append({"kilobytes": size, "cycles": row})
    return {"device": properties["name"].decode(), "rows": rows}


if __name__ == "__main__":
    print(json.dumps(measure(), indent=1))
