"""How long `lmemscope tune` takes, in runs of ptxas on the same kernel.

    python benchmarks/tune_times.py

Needs what `lmemscope doctor` asks for, and no GPU. The kernel keeps many floats alive, so that its
frontier has about 20 points. Processor time is that of the program with its workers and tools, and
is compared on one core and on two; elapsed time is of use on a quiet machine alone.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ARCH, LIVE, REPEATS = "sm_90", 84, 5
KERNEL = """\
extern "C" __global__ void wide(const float *in, float *out, int n) {
  float v[%(live)d];
#pragma unroll
  for (int i = 0; i < %(live)d; ++i) v[i] = in[i * n + threadIdx.x];
  for (int k = 0; k < n; ++k) {
    float x = in[k];
#pragma unroll
    for (int i = 0; i < %(live)d; ++i) {
      float y = v[i] - x;
#pragma unroll
      for (int step = 0; step < 8; ++step) y = fmaf(y, y * x, v[i] + step);
      v[i] = y;
      x += y;
    }
  }
#pragma unroll
  for (int i = 0; i < %(live)d; ++i) out[i * n + threadIdx.x] = v[i];
}
"""


_PR_SET_CHILD_SUBREAPER = 36
"""prctl(2): workers that end after the program are waited for here, and counted."""


def taken(command: list[str], cores: set[int]) -> tuple[float, float]:
    """Seconds of the processor and of the clock that a command takes on some cores."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    subprocess.run(
        command,
        check=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        preexec_fn=lambda: os.sched_setaffinity(0, cores),
    )
    elapsed = time.monotonic() - began
    with contextlib.suppress(ChildProcessError):
        while True:
            os.wait()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return used, elapsed


def ptxas() -> str:
    from lmemscope.tools.toolchain import INSTALLED

    path = INSTALLED.tool("ptxas").path
    assert path is not None
    return path


def main() -> None:
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1)
    program = [sys.executable, "-m", "lmemscope"]
    every = sorted(os.sched_getaffinity(0))
    with tempfile.TemporaryDirectory() as directory:
        source, ptx = Path(directory, "wide.cu"), Path(directory, "wide.ptx")
        source.write_text(KERNEL % {"live": LIVE})
        dump = [*program, "dump", str(source), "--ptx", "--arch", ARCH, "-o", str(ptx)]
        subprocess.run(dump, check=True)
        tune = [*program, "tune", str(source), "--arch", ARCH, "--no-cache", "--format", "json"]
        said = subprocess.run(tune, check=True, capture_output=True, text=True).stdout
        points = json.loads(said)["kernels"][0]["points"]
        flags = [f"-arch={ARCH}", "-v", "-lineinfo", str(ptx), "-o", os.devnull]
        runs = [taken([ptxas(), *flags], {every[0]}) for _ in range(REPEATS)]
        alone = [statistics.median(column) for column in zip(*runs, strict=True)]
        caps = [[] if p["cap"] is None else [f"-maxrregcount={p['cap']}"] for p in points]
        by_hand = sum(taken([ptxas(), *flags, *cap], {every[0]})[0] for cap in caps)
        found = {
            "points": len(points),
            "ptxas": {"processor": round(alone[0], 3), "elapsed": round(alone[1], 3)},
            "all points by hand": {
                "processor": round(by_hand, 2),
                "in ptxas runs": round(by_hand / alone[0], 1),
            },
        }
        for cores in (1, 2)[: len(every)]:
            jobs = [*tune, "--jobs", str(cores)]
            used = [taken(jobs, set(every[:cores])) for _ in range(3)]
            processor, elapsed = (min(column) for column in zip(*used, strict=True))
            found[f"{cores} core{'s' if cores > 1 else ''}"] = {
                "processor": round(processor, 2),
                "elapsed": round(elapsed, 2),
                "in ptxas runs": {
                    "processor": round(processor / alone[0], 1),
                    "processor per core": round(processor / alone[0] / cores, 1),
                    "elapsed": round(elapsed / alone[1], 1),
                },
            }
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    main()
