"""What causes and names cost: a scan less one that stops at the facts, against another checkout.

    python benchmarks/attribution.py --against CHECKOUT [--rounds 3] [--kernels 430]

Two inputs: the file of ``benchmarks/speed.py``, and PTX of many kernels that keep arrays, index
them by data and call ``sin`` and ``cos`` (430 are 19 MB). The four commands, with and without
causes, of this checkout and of the other, take turns, each alone and without a cache. Figures are
medians, in seconds, of time and of the processor time of all processes that a command starts.
"""

from __future__ import annotations

import argparse
import ctypes
import itertools
import os
import statistics
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from routes import SUBREAPER, Cost, cost
from speed import KERNELS, kernels_file

from lmemscope.tools import nvrtc

ROOT = Path(__file__).parent.parent
TEMPLATE = """
template <int N, int M, typename T, int V>
__global__ void work(const T *__restrict__ in, T *out, int n, const int *where) {
  T ring[N], rows[M][4];
  int thread = blockIdx.x * blockDim.x + threadIdx.x;
  for (int i = 0; i < N; ++i) ring[i] = in[thread * N + i];
  for (int i = 0; i < M; ++i)
    for (int j = 0; j < 4; ++j) rows[i][j] = in[thread + i * 4 + j] * T(V);
  for (int k = 0; k < n; ++k) {
    int w = where[k + thread];
    ring[(w + k) % N] += rows[w & (M - 1)][k & 3];
    T best = ring[0];
    int at = 0;
    for (int i = 1; i < N; ++i)
      if (ring[i] > best) { best = ring[i]; at = i; }
    ring[at] = best * T(0.5) + sin(T(k) * best);
  }
  for (int i = 0; i < n && i < N; ++i) out[thread * N + i] = ring[i];
  for (int i = 0; i < M; ++i) out[thread + i] += rows[i][n & 3] + cos(ring[i % N]);
}
"""


def many_kernels(count: int) -> bytes:
    """PTX of instances of one template, no two of them alike."""
    every = itertools.product(range(8, 20), (4, 8, 16), ("float", "double"), range(1, 9))
    lines = [
        f"template __global__ void work<{n}, {m}, {t}, {v}>(const {t} *, {t} *, int, const int *);"
        for n, m, t, v in itertools.islice(every, count)
    ]
    options = ("--gpu-architecture=compute_90", "-lineinfo")
    return nvrtc.compile_to_ptx("\n".join((TEMPLATE, *lines)), "many.cu", options, ())


def measured(file: str, checkouts: Sequence[Path], rounds: int, work: Path) -> list[list[Cost]]:
    """Costs of a scan and of one without causes, by checkout in turn; one round before warms up."""
    scan = [sys.executable, "-m", "lmemscope", "scan", "--no-cache", "-j1", "--arch", "sm_90"]
    ways = [(one, more) for one in checkouts for more in ([], ["--no-causes"])]
    found: list[list[Cost]] = [[] for _ in ways]
    for turn in range(rounds + 1):
        for index, (checkout, more) in enumerate(ways):
            # Else the directory that this is started in would come before the checkout.
            environment = {**os.environ, "PYTHONPATH": str(checkout), "PYTHONSAFEPATH": "1"}
            one = cost([*scan, *more, file], environment, work / "out")
            if one is None:
                raise SystemExit(f"{checkout}: scan {' '.join(more)} {file} failed")
            if turn:
                found[index].append(one)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--against", type=Path, required=True)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--kernels", type=int, default=430)
    arguments = parser.parse_args()
    ctypes.CDLL(None).prctl(SUBREAPER, 1, 0, 0, 0)
    print("| input | | there | here | here / there |\n|---|---|--:|--:|--:|")
    with tempfile.TemporaryDirectory() as directory:
        work = Path(directory)
        source, ptx = work / "bench.cu", work / "many.ptx"
        source.write_text(kernels_file(KERNELS))
        ptx.write_bytes(many_kernels(arguments.kernels))
        size = f"{ptx.stat().st_size / 1e6:.1f} MB PTX, {arguments.kernels} kernels"
        checkouts = [arguments.against.resolve(), ROOT]
        # What takes less than a second is measured more often.
        for file, name, more in ((source, f"{KERNELS} kernels", 8), (ptx, size, 1)):
            runs = measured(str(file), checkouts, arguments.rounds * more, work)
            for kind in Cost._fields:
                times = [[getattr(one, kind) for one in each] for each in runs]
                whole = [statistics.median(times[i]) for i in (0, 2)]
                facts = [statistics.median(times[i]) for i in (1, 3)]
                less = [
                    statistics.median(a - b for a, b in zip(times[i], times[i + 1], strict=True))
                    for i in (0, 2)
                ]
                rows = (("`scan`", whole), ("`--no-causes`", facts), ("difference", less))
                for label, (there, here) in rows:
                    figures = f"{there:.2f} | {here:.2f} | {here / there:.2f}"
                    print(f"| {name}, {kind} | {label} | {figures} |", flush=True)


if __name__ == "__main__":
    main()
