"""Speed of lmemscope as ratios, measured side by side in one run.

    python benchmarks/speed.py [--rounds 7]

Prints the table of docs/performance.md. Commands of one comparison take turns, so that a busy
machine slows all of them; the figure is the median of the ratios of neighbours.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Sequence
from pathlib import Path

from lmemscope.formats.ptx import PtxModule
from lmemscope.tools import nvrtc
from lmemscope.tools.toolchain import INSTALLED

ROOT = Path(__file__).parent.parent
KERNELS = 20
PTX_BYTES = 20_000_000

BARE_NVRTC = """
import sys
from cupy_backends.cuda.libs import nvrtc
source = open(sys.argv[1]).read()
program = nvrtc.createProgram(source, sys.argv[1], [], [])
nvrtc.compileProgram(program, ["--gpu-architecture=sm_90", "-lineinfo", "--ptxas-options=-v"])
ptx, cubin = nvrtc.getPTX(program), nvrtc.getCUBIN(program)
print(nvrtc.getProgramLog(program))
"""


def kernels_file(count: int, seed: int = 0) -> str:
    """A file of ``count`` kernels; half use local memory, as an array with a run-time index."""
    parts = []
    for i in range(count):
        size, name = 16 + 8 * ((i + seed) % 5), f"k{seed}_{i}"
        if i % 2:
            parts.append(
                f'extern "C" __global__ void {name}(const float *x, float *y, int n) {{\n'
                f"  float a[{size}] = {{}};\n"
                f"  for (int i = 0; i < n; ++i) a[(int)x[i] % {size}] += x[i + n];\n"
                f"  for (int i = 0; i < {size}; ++i) y[i * n + threadIdx.x] = a[i];\n}}\n"
            )
        else:
            parts.append(
                f'extern "C" __global__ void {name}(const float *x, float *y, int n) {{\n'
                f"  float s = 0;\n  for (int i = threadIdx.x; i < n; i += blockDim.x)\n"
                f"    s += x[i] * x[i + {size}] + expf(x[i]) / (1.0f + x[i]);\n"
                f"  y[threadIdx.x] = s;\n}}\n"
            )
    return "".join(parts)


def alternate(commands: Sequence[Sequence[str]], rounds: int, cwd: str) -> list[list[float]]:
    """Seconds of each command in each round; the first round warms caches and is dropped."""
    times: list[list[float]] = [[] for _ in commands]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    for turn in range(rounds + 1):
        for index, command in enumerate(commands):
            start = time.perf_counter()
            subprocess.run(command, cwd=cwd, env=environment, capture_output=True, check=True)
            if turn:
                times[index].append(time.perf_counter() - start)
    return times


def ratio(times: list[float], reference: list[float]) -> float:
    return statistics.median(a / b for a, b in zip(times, reference, strict=True))


def report(what: str, value: float, limit: str, unit: str = "×") -> None:
    print(f"| {what} | {value:.2f} {unit} | {limit} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    rounds = parser.parse_args().rounds
    python = sys.executable
    print("| measured | value | wanted |\n|---|--:|---|")
    with tempfile.TemporaryDirectory() as work:
        Path(work, "bench.cu").write_text(kernels_file(KERNELS))
        Path(work, "bare.py").write_text(BARE_NVRTC)
        nvcc, cuobjdump = INSTALLED.find("nvcc"), INSTALLED.find("cuobjdump")
        shell = (
            f"{nvcc} -cubin -lineinfo -Xptxas -v -arch=sm_90 bench.cu -o b.cubin && "
            f"{cuobjdump} -sass b.cubin | grep -cE 'LDL|STL'"
        )
        scan = [python, "-m", "lmemscope", "scan", "--no-cache", "--arch", "sm_90"]
        plain, ours, bare, rival = alternate(
            [
                [*scan, "--no-causes", "bench.cu"],
                [*scan, "bench.cu"],
                [python, "bare.py", "bench.cu"],
                ["sh", "-c", shell],
            ],
            rounds,
            work,
        )
        report("`scan --no-causes` / one bare NVRTC call", ratio(plain, bare), "≤ 1.15")
        report("`scan --no-causes` / nvcc, cuobjdump and grep", ratio(plain, rival), "≤ 0.75")
        report("`scan` / nvcc, cuobjdump and grep", ratio(ours, rival), "")
        report("`scan` / `scan --no-causes`, half use local memory", ratio(ours, plain), "≤ 1.6")
        clean = kernels_file(2 * KERNELS).split('extern "C"')[1::2]
        Path(work, "clean.cu").write_text("".join(f'extern "C"{text}' for text in clean))
        plain, ours = alternate(
            [[*scan, "--no-causes", "clean.cu"], [*scan, "clean.cu"]], rounds, work
        )
        report("`scan` / `scan --no-causes`, none does", ratio(ours, plain), "1.0")
        help_, start = alternate(
            [[python, "-m", "lmemscope", "--help"], [python, "-c", "pass"]], 3 * rounds, work
        )
        report("`lmemscope --help` / bare Python start", ratio(help_, start), "≤ 5")
        files = [f"f{i}.cu" for i in range(10)]
        for i, name in enumerate(files):
            Path(work, name).write_text(kernels_file(KERNELS, seed=i))
        serial, parallel = alternate(
            [[*scan, *files, "-j", "1"], [*scan, *files, "-j", "2"]], max(rounds // 2, 3), work
        )
        report("ten files one by one / two at a time", ratio(serial, parallel), "≥ 1.6")
        unchanged_files(Path(work), max(rounds // 2, 3))
        ptx_scanning(Path(work, "bench.cu"))


def unchanged_files(work: Path, rounds: int) -> None:
    """The gate on 50 files, all samples and shipped kernels, without and with a cache."""
    tree = work / "tree"
    tree.mkdir()
    sources = [
        *(ROOT / "tests" / "corpus" / "samples").glob("*.cu"),
        *(ROOT / "kernels").glob("*.cu"),
    ]
    for number in range(50):
        source = sorted(sources)[number % len(sources)]
        (tree / f"{number:02}_{source.name}").write_text(source.read_text())
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "LMEMSCOPE_CACHE_DIR": str(work / "cache"),
    }
    program = [sys.executable, "-m", "lmemscope"]

    def seconds(*arguments: str) -> float:
        start = time.perf_counter()
        subprocess.run(
            [*program, *arguments], cwd=work, env=environment, capture_output=True, check=True
        )
        return time.perf_counter() - start

    seconds("baseline", "tree", "--arch", "sm_90")
    cold, warm = [], []
    for _ in range(rounds):
        seconds("cache", "clear")
        cold.append(seconds("check", "tree", "--arch", "sm_90"))
        warm.append(seconds("check", "tree", "--arch", "sm_90"))
    report("`check` on 50 unchanged files / the same without a cache", ratio(warm, cold), "≤ 0.1")
    print(f"The fastest of those runs with a cache took {min(warm):.2f} s.", file=sys.stderr)


def ptx_scanning(source: Path) -> None:
    """Find the functions of 20 MB of PTX: the benchmark file's own, repeated with other names.

    Reports megabytes per second, of this process's CPU, and memory per byte of the file.
    """
    flags = ("--gpu-architecture=sm_90", "-lineinfo")
    text = nvrtc.compile_program(source.read_text(), str(source), flags, ()).ptx
    start = text.index(b".visible")
    body = text[start : text.index(b"\t.file")]
    copies = [body.replace(b"k0_", b"k%d_" % i) for i in range(PTX_BYTES // len(body) + 1)]
    big = text[:start] + b"".join(copies)
    best = 0.0
    for _ in range(9):
        begin = time.process_time()
        functions = PtxModule(big).functions
        best = max(best, len(big) / 1e6 / (time.process_time() - begin))
        assert len(functions) == len(copies) * body.count(b".entry")
    report(f"PTX scanning, {len(big) / 1e6:.0f} MB", best, "≥ 200", "MB/s")
    tracemalloc.start()
    functions = PtxModule(big).functions
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    report("memory of a scan / size of the file", peak / len(big), "")


if __name__ == "__main__":
    main()
