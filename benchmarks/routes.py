"""What a scan of files that nvcc compiles costs, in nvcc's own time and processor time.

    python benchmarks/routes.py [--rounds 3] [--list corpus.json] [FILE.cu ...]

Without files, the samples of ``tests/corpus/samples``. A list is JSON: ``{"files": [{"file": …,
"includes": […], "defines": […], "std": …}]}``.

Commands take turns, each alone; figures are of the ratios to
``nvcc -cubin -lineinfo -Xptxas -v`` of the same file. Processor time is that of all processes that
a command starts (Linux: they are this process's to wait for when their parents have ended).
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from lmemscope.model import CompileOptions
from lmemscope.sources.cuda import read_cuda_source
from lmemscope.sources.headers import with_headers
from lmemscope.sources.host_headers import refused_for
from lmemscope.tools.toolchain import INSTALLED

ROOT = Path(__file__).parent.parent
SUBREAPER = 36
"""``PR_SET_CHILD_SUBREAPER``: see prctl(2)."""


class Cost(NamedTuple):
    wall: float
    processor: float


class Source(NamedTuple):
    path: str
    options: CompileOptions

    def flags(self) -> list[str]:
        given = [f"-I{path}" for path in self.options.include_dirs]
        given += [f"-D{define}" for define in self.options.defines]
        return given + ([f"--std={self.options.std}"] if self.options.std else [])


def cost(command: Sequence[str], environment: Mapping[str, str], output: Path) -> Cost | None:
    """Of a command and all that it starts; None where it fails."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    with open(output, "wb") as stream:
        done = subprocess.run(
            command, env=environment, stdout=stream, stderr=subprocess.DEVNULL, check=False
        )
    wall = time.perf_counter() - start
    try:
        while True:
            os.waitpid(-1, 0)
    except ChildProcessError:
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        return None
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Cost(wall, used)


def why_nvcc(source: Source) -> str:
    """Why a file goes, or went, to nvcc."""
    read = read_cuda_source(Path(source.path).read_text(errors="replace"))
    read = with_headers(read, source.path, source.options)
    header = refused_for(read, source.path, source.options, INSTALLED.header_dirs())
    if header is not None:
        return "a host header, foreseen"
    return "read otherwise by NVRTC" if read.asked is not None else "refused by NVRTC"


def spread(values: Sequence[float]) -> str:
    if len(values) < 2:
        return " | ".join(f"{value:.2f}" for value in (*values, *values, *values))
    tenths = statistics.quantiles(values, n=10, method="inclusive")
    return f"{tenths[0]:.2f} | {statistics.median(values):.2f} | {tenths[-1]:.2f}"


def sources(arguments: argparse.Namespace) -> list[Source]:
    if arguments.list is not None:
        rows = json.loads(arguments.list.read_text())["files"]
        return [
            Source(
                row["file"],
                CompileOptions(
                    std=row.get("std"),
                    include_dirs=tuple(row.get("includes", ())),
                    defines=tuple(row.get("defines", ())),
                ),
            )
            for row in rows
        ]
    named = arguments.files or sorted((ROOT / "tests" / "corpus" / "samples").glob("*.cu"))
    return [Source(str(Path(path).resolve()), CompileOptions()) for path in named]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--list", type=Path)
    parser.add_argument("files", nargs="*")
    arguments = parser.parse_args()
    ctypes.CDLL(None).prctl(SUBREAPER, 1, 0, 0, 0)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    nvcc = [INSTALLED.find("nvcc"), "-cubin", "-lineinfo", "-Xptxas", "-v", "-arch=sm_90"]
    scan = [sys.executable, "-m", "lmemscope", "scan", "--no-cache", "-j1", "--arch", "sm_90"]
    ratios: dict[str, list[Cost]] = {"all": []}
    routes: Counter[str] = Counter()
    sums = [[0.0, 0.0], [0.0, 0.0]]
    with tempfile.TemporaryDirectory() as work:
        cubin, document = Path(work, "a.cubin"), Path(work, "a.json")
        for source in sources(arguments):
            pairs: list[tuple[Cost, Cost]] = []
            for _ in range(arguments.rounds):
                theirs = cost(
                    [*nvcc, *source.flags(), source.path, "-o", str(cubin)],
                    environment,
                    Path(work, "log"),
                )
                ours = cost(
                    [*scan, *source.flags(), "--format", "json", source.path],
                    environment,
                    document,
                )
                if theirs is None or ours is None:
                    break
                pairs.append((theirs, ours))
            if len(pairs) < arguments.rounds:
                routes["not compiled"] += 1
                continue
            (unit,) = json.loads(document.read_text())["units"]
            if unit["frontend"] != "nvcc":
                routes[f"by {unit['frontend'].upper()}"] += 1
                continue
            routes[f"by nvcc: {why_nvcc(source)}"] += 1
            declares = any(
                (kernel.get("ptx") or {}).get("local_bytes") for kernel in unit["kernels"]
            )
            kind = "PTX declares local memory" if declares else "PTX declares none"
            middle = Cost(
                statistics.median(ours.wall / theirs.wall for theirs, ours in pairs),
                statistics.median(ours.processor / theirs.processor for theirs, ours in pairs),
            )
            for key in ("all", kind):
                ratios.setdefault(key, []).append(middle)
            for side in (0, 1):
                sums[side][0] += statistics.median(pair[side].wall for pair in pairs)
                sums[side][1] += statistics.median(pair[side].processor for pair in pairs)
            print(f"{middle.wall:.2f} {middle.processor:.2f} {kind} {source.path}", file=sys.stderr)
    print("| files | |\n|---|--:|")
    for route, number in sorted(routes.items()):
        print(f"| {route} | {number} |")
    print("\n| `scan` / nvcc | files | p10 | median | p90 |\n|---|--:|--:|--:|--:|")
    for kind, costs in ratios.items():
        print(f"| {kind}: time | {len(costs)} | {spread([one.wall for one in costs])} |")
        shown = spread([one.processor for one in costs])
        print(f"| {kind}: processor time | {len(costs)} | {shown} |")
    if ratios["all"]:
        (nvcc_wall, nvcc_used), (wall, used) = sums
        print(f"\nIn sum: time {wall / nvcc_wall:.2f}, processor time {used / nvcc_used:.2f}.")


if __name__ == "__main__":
    main()
