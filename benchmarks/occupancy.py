"""Limits of multiprocessors from ``cuda_occupancy.h``, and occupancy beside the driver's.

    python benchmarks/occupancy.py            # the table, from the installed header
    python benchmarks/occupancy.py --write    # written to lmemscope/analysis/multiprocessors.py
    python benchmarks/occupancy.py --gpu      # every point beside the driver's answer

The table needs CUDA's headers and g++: the header's functions are compiled and called, so that no
text of it is read. What a device reports of itself (`DEVICES`) is not in the header. ``--gpu``
needs a GPU and CuPy.
"""

from __future__ import annotations

import argparse
import itertools
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
TABLE = ROOT / "lmemscope" / "analysis" / "multiprocessors.py"
_KB = 1024


@dataclass(frozen=True)
class Device:
    """What a device of a compute capability reports of itself; KiB where not said otherwise.

    CUDA C++ Programming Guide, "Compute Capabilities", table "Technical Specifications per Compute
    Capability". ptxas names the same numbers of threads and blocks from 7.5 on, for it ignores
    launch bounds beyond them (`tests/toolchain/test_occupancy.py`).

    Attributes:
        threads: resident at most.
        shared: shared memory of a multiprocessor; None where the header has it.
        block_shared: of a block at most; None: all but what is reserved.
        block_registers: thousands of registers of a block at most.
        l1: L1 cache and shared memory together; None where these are apart.
    """

    threads: int
    shared: int | None = None
    block_shared: int | None = None
    block_registers: int = 64
    l1: int | None = None


DEVICES = {
    50: Device(2048, 64, 48),
    52: Device(2048, 96, 48),
    53: Device(2048, 64, 48, 32),
    60: Device(2048, 64, 48),
    61: Device(2048, 96, 48),
    62: Device(2048, 64, 48, 32),
    70: Device(2048, l1=128),
    72: Device(2048, l1=128),
    75: Device(1024, l1=96),
    80: Device(2048, l1=192),
    86: Device(1536, l1=128),
    87: Device(1536, l1=192),
    88: Device(1536, l1=128),
    89: Device(1536, l1=128),
    90: Device(2048, l1=256),
    100: Device(2048, l1=256),
    101: Device(1536, l1=256),
    103: Device(2048, l1=256),
    110: Device(1536, l1=256),
    120: Device(1536, l1=128),
    121: Device(1536, l1=128),
}
_REGISTERS = 64 * _KB
"""Of a multiprocessor, on every architecture."""
_RESERVED_FROM, _RESERVED = 80, _KB
"""The capability from which the system keeps shared memory of each block, and the bytes."""


@dataclass(frozen=True)
class Point:
    """A kernel as far as its occupancy goes, and its block; shared memory static and dynamic."""

    threads: int
    registers: int
    shared: int
    barriers: int = 0
    dynamic: int = 0


_PROBE = """\
#include <climits>
#include <cstdio>
#include <cstring>
#include <cuda_occupancy.h>

static cudaOccDeviceProp device(const int *v) {
  cudaOccDeviceProp p;
  p.computeMajor = v[0] / 10; p.computeMinor = v[0] % 10;
  p.maxThreadsPerBlock = 1024; p.maxThreadsPerMultiprocessor = v[1]; p.warpSize = 32; p.numSms = 1;
  p.regsPerBlock = v[2]; p.regsPerMultiprocessor = v[3];
  p.sharedMemPerBlock = 48 * 1024; p.sharedMemPerMultiprocessor = v[4];
  p.sharedMemPerBlockOptin = v[5]; p.reservedSharedMemPerBlock = v[6];
  return p;
}

static void limits(const cudaOccDeviceProp &p) {
  int granularity, pieces, most, partitions, blocks, barriers;
  cudaOccSMemAllocationGranularity(&granularity, &p);
  cudaOccRegAllocationGranularity(&pieces, &p);
  cudaOccRegAllocationMaxPerThread(&most, &p);
  cudaOccSubPartitionsPerMultiprocessor(&partitions, &p);
  cudaOccMaxBlocksPerMultiprocessor(&blocks, &p);
  size_t shared = 0;
  for (size_t kb = 1; kb <= 1024; ++kb) {
    size_t size = kb * 1024;
    if (p.computeMajor >= 7 && cudaOccAlignUpShmemSizeVoltaPlus(&size, &p) == CUDA_OCC_SUCCESS)
      shared = size;
  }
  cudaOccFuncAttributes one{};
  one.numBlockBarriers = 1;
  cudaOccMaxBlocksPerSMBlockBarrierLimit(&barriers, blocks, &p, &one);
  std::printf("%d %d %d %d %d %zu %d\\n", granularity, pieces, most, partitions, blocks, shared,
              barriers);
}

int main() {
  int v[7], n;
  while (std::scanf("%d %d %d %d %d %d %d", v, v + 1, v + 2, v + 3, v + 4, v + 5, v + 6) == 7 &&
         std::scanf("%d", &n) == 1) {
    const cudaOccDeviceProp p = device(v);
    if (n == 0) limits(p);
    for (; n > 0; --n) {
      int threads, registers, shared, barriers, dynamic;
      if (std::scanf("%d %d %d %d %d", &threads, &registers, &shared, &barriers, &dynamic) != 5)
        return 1;
      cudaOccFuncAttributes f{};
      f.maxThreadsPerBlock = INT_MAX; f.numRegs = registers; f.sharedSizeBytes = shared;
      f.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN; f.numBlockBarriers = barriers;
      f.maxDynamicSharedSizeBytes = INT_MAX / 2;
      cudaOccDeviceState state;
      state.cacheConfig = CACHE_PREFER_NONE; state.carveoutConfig = SHAREDMEM_CARVEOUT_DEFAULT;
      cudaOccResult result;
      const bool fits = cudaOccMaxActiveBlocksPerMultiprocessor(&result, &p, &f, &state, threads,
                                                                dynamic) == CUDA_OCC_SUCCESS;
      std::printf("%d\\n", fits ? result.activeBlocksPerMultiprocessor : -1);
    }
  }
}
"""


def of_header(lines: Iterable[Sequence[int]], include: str) -> list[list[int]]:
    """What the header's functions give for lines of numbers, as the probe reads them."""
    with tempfile.TemporaryDirectory() as directory:
        source, program = Path(directory, "probe.cpp"), Path(directory, "probe")
        source.write_text(_PROBE)
        command = ["g++", "-O1", "-w", f"-I{include}", str(source), "-o", str(program)]
        subprocess.run(command, check=True)
        text = "\n".join(" ".join(map(str, line)) for line in lines)
        done = subprocess.run([program], input=text, capture_output=True, text=True, check=True)
    return [[int(word) for word in line.split()] for line in done.stdout.splitlines()]


def header() -> str:
    """The directory of the installed header."""
    from cuda import pathfinder

    found = pathfinder.find_nvidia_header_directory("cudart")
    if found is None:
        raise SystemExit("no CUDA headers: install nvidia-cuda-runtime")
    return str(found)


def _properties(capability: int, shared: int, block_shared: int) -> list[int]:
    one = DEVICES[capability]
    reserved = _RESERVED if capability >= _RESERVED_FROM else 0
    registers = one.block_registers * _KB
    return [capability, one.threads, registers, _REGISTERS, shared, block_shared, reserved]


def rows(include: str) -> dict[int, dict[str, int | None]]:
    """The table's rows: what the header says, and what devices say of themselves."""
    asked = [[*_properties(number, 0, 0), 0] for number in DEVICES]
    found: dict[int, dict[str, int | None]] = {}
    for number, line in zip(DEVICES, of_header(asked, include), strict=True):
        granularity, pieces, most, partitions, blocks, shared, barriers = line
        if pieces != 256 or most < 255:
            raise SystemExit(f"{number}: registers by {pieces}, at most {most} a thread: new to us")
        one = DEVICES[number]
        shared = shared or (one.shared or 0) * _KB
        reserved = _RESERVED if number >= _RESERVED_FROM else 0
        own = one.block_shared * _KB if one.block_shared is not None else shared - reserved
        found[number] = {
            "capability": number,
            "warps": one.threads // 32,
            "blocks": blocks,
            "registers": _REGISTERS,
            "block_registers": one.block_registers * _KB,
            "partitions": partitions,
            "shared": shared,
            "block_shared": own,
            "reserved": reserved,
            "granularity": granularity,
            "barriers": barriers,
            "l1": one.l1 * _KB if one.l1 is not None else None,
        }
    return found


def module(include: str) -> str:
    """The text of the table's module."""
    made = rows(include)
    lines = [
        f"    {number}: Multiprocessor({', '.join(str(value) for value in row.values())}),"
        for number, row in made.items()
    ]
    head, _, rest = TABLE.read_text().partition("MULTIPROCESSORS = {\n")
    tail = rest.partition("}\n")[2]
    return f"{head}MULTIPROCESSORS = {{\n" + "\n".join(lines) + f"\n}}\n{tail}"


def points() -> list[Point]:
    """Kernels and blocks that are compared."""
    threads = (1, 32, 33, 64, 96, 128, 160, 192, 256, 288, 384, 512, 640, 768, 1000, 1024)
    registers = (8, 16, 24, 25, 32, 40, 41, 48, 56, 64, 72, 80, 96, 128, 168, 255)
    shared = (0, 1, 1024, 4000, 8192, 10000, 20000, 31000, 49152)
    plain = [Point(*one) for one in itertools.product(threads, registers, shared)]
    barred = [Point(t, 32, 0, b) for t in (32, 64, 256) for b in (1, 2, 3, 5, 8, 16)]
    large = [Point(t, 40, s) for t in (64, 256) for s in (65536, 98304, 101376, 166912, 232448)]
    dynamic = [Point(t, 40, 3000, 0, d) for t in (64, 256) for d in (1, 5000, 46000, 98304)]
    return [*plain, *barred, *large, *dynamic]


def blocks(capability: int, own: Sequence[Point], include: str) -> list[int]:
    """How many blocks a multiprocessor holds of each kernel, by the header."""
    from lmemscope.analysis.multiprocessors import MULTIPROCESSORS

    one = MULTIPROCESSORS[capability]
    asked = [[*_properties(capability, one.shared, one.block_shared), len(own)]]
    asked += [[p.threads, p.registers, p.shared, p.barriers, p.dynamic] for p in own]
    return [line[0] for line in of_header(asked, include)]


def compared_with_header(include: str) -> tuple[int, list[str]]:
    """How many points are compared, of all architectures, and those that differ."""
    from lmemscope.analysis.multiprocessors import MULTIPROCESSORS
    from lmemscope.analysis.occupancy import residency

    ours, theirs = [], []
    for number in MULTIPROCESSORS:
        own = points()
        theirs += blocks(number, own, include)
        for p in own:
            shared = p.shared + p.dynamic
            held = residency(f"sm_{number}", p.threads, p.registers, shared, p.barriers)
            ours.append((number, p, held.blocks if held is not None else None))
    differing = [
        f"sm_{number} {point}: {known}, by the header {found}"
        for (number, point, known), found in zip(ours, theirs, strict=True)
        if known != found
    ]
    return len(ours), differing


_KERNEL = """\
extern "C" __global__ void %(name)s(float *out, const float *in, int n) {
  %(shared)s
  float v[%(live)d];
#pragma unroll
  for (int i = 0; i < %(live)d; ++i) v[i] = in[i * n + threadIdx.x];
  for (int k = 0; k < n; ++k)
#pragma unroll
    for (int i = 0; i < %(live)d; ++i) v[i] = v[i] * v[(i + 1) %% %(live)d] + in[k];
  %(barriers)s
  float total = 0.0f;
#pragma unroll
  for (int i = 0; i < %(live)d; ++i) total += v[i] * (i + n);
  out[blockIdx.x * blockDim.x + threadIdx.x] = total %(read)s;
}
"""


def kernels() -> list[dict[str, Any]]:
    """Kernels of few and of many registers, with static shared memory or barriers, or neither."""
    shapes = [*itertools.product((2, 16, 40, 80, 140), (0, 3000, 20000), (0,))]
    shapes += [(8, 0, barriers) for barriers in (2, 3, 6, 16)]
    made = []
    for number, (live, shared, barriers) in enumerate(shapes):
        bars = "".join(f'asm volatile("bar.sync {n};");' for n in range(barriers))
        made.append(
            {
                "name": f"k{number}",
                "live": live,
                "shared": f"__shared__ float s[{shared // 4}]; s[threadIdx.x % {shared // 4}] = n;"
                if shared
                else "",
                "read": "+ s[n]" if shared else "",
                "barriers": bars,
                "count": barriers or (1 if shared else 0),
            }
        )
    return made


def compared_with_driver() -> tuple[int, list[dict[str, Any]]]:
    """How many points are compared with the driver of the GPU present, and those that differ."""
    import cupy
    from cupy_backends.cuda.api import driver

    from lmemscope.analysis.occupancy import multiprocessor, residency

    arch = f"sm_{cupy.cuda.Device().compute_capability}"
    limits = multiprocessor(arch)
    if limits is None:
        raise SystemExit(f"{arch} is not in the table")
    count, differing = 0, []
    for shape in kernels():
        kernel = cupy.RawKernel(_KERNEL % shape, shape["name"], options=("-std=c++17",))
        static = kernel.shared_size_bytes
        kernel.max_dynamic_shared_size_bytes = limits.block_shared - static
        sizes = (32, 33, 64, 96, 128, 192, 256, 320, 384, 512, 768, 1000, 1024)
        for threads, dynamic in itertools.product(sizes, (0, 5000, 40000, 100000)):
            if threads > kernel.max_threads_per_block or static + dynamic > limits.block_shared:
                continue
            known = driver.occupancyMaxActiveBlocksPerMultiprocessor(
                kernel.kernel.ptr, threads, dynamic
            )
            held = residency(arch, threads, kernel.num_regs, static + dynamic, shape["count"])
            count += 1
            if held is None or held.blocks != known:
                differing.append(
                    {
                        "arch": arch,
                        "kernel": shape["name"],
                        "registers": kernel.num_regs,
                        "threads": threads,
                        "shared": static + dynamic,
                        "barriers": shape["count"],
                        "ours": held.blocks if held is not None else None,
                        "driver": known,
                    }
                )
    return count, differing


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--gpu", action="store_true")
    asked = parser.parse_args()
    if asked.gpu:
        count, differing = compared_with_driver()
        print(json.dumps({"points": count, "differing": differing}, indent=1))
        raise SystemExit(1 if differing else 0)
    text = module(header())
    if asked.write:
        TABLE.write_text(text)
        return
    print(text)
    count, different = compared_with_header(header())
    print(*different[:20], f"{count} points, {len(different)} differ", sep="\n", file=sys.stderr)


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    main()
