"""Register caps timed on a GPU, and the knees that `lmemscope tune` names without one.

    python benchmarks/tune_knees.py measure DEVICE > benchmarks/data/tune_knees.json   # GPU, nvcc
    python benchmarks/tune_knees.py compare                                            # neither

The kernels of benchmarks/data/tune_kernels were written for this, and the model was not fitted to
them. Each is built by nvcc without a cap and with each multiple of 8 from 24 to 120, and runs in
blocks of 256 threads; the time is the best of ten.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

DATA = Path(__file__).parent / "data"
KERNELS = sorted((DATA / "tune_kernels").glob("*.cu"))
BLOCK, LENGTH = 256, 1 << 24
CAPS = (0, *range(24, 121, 8))
"""0 for none."""

MAIN = """
#include <algorithm>
#include <cstdio>
#include <vector>
int main() {
  const int n = %d;
  float *in, *out;
  cudaMalloc(&in, n * sizeof(float));
  cudaMalloc(&out, n * sizeof(float));
  std::vector<float> values(n);
  for (int i = 0; i < n; ++i) values[i] = 1 + (i * 2654435761u %% 1000) * 1e-3f;
  cudaMemcpy(in, values.data(), n * sizeof(float), cudaMemcpyHostToDevice);
  const int threads = %s;
  cudaEvent_t begin, end;
  cudaEventCreate(&begin);
  cudaEventCreate(&end);
  float best = 1e30f;
  for (int run = 0; run < 12; ++run) {
    cudaEventRecord(begin);
    k<<<(threads + %d - 1) / %d, %d>>>(out, in, n);
    cudaEventRecord(end);
    cudaEventSynchronize(end);
    float ms;
    cudaEventElapsedTime(&ms, begin, end);
    if (run > 1) best = std::min(best, ms);
  }
  if (cudaGetLastError() != cudaSuccess) return 1;
  std::printf("%%g", best);
}
"""


def build(kernel: Path, cap: int, directory: Path) -> tuple[int, int]:
    """Compile a kernel with its main program; registers and bytes of spill loads."""
    text = kernel.read_text()
    threads = re.search(r"^// threads: (.+)$", text, re.MULTILINE)
    assert threads is not None, kernel
    source = directory / f"{kernel.stem}.{cap}.cu"
    source.write_text(text + MAIN % (LENGTH, threads[1], BLOCK, BLOCK, BLOCK))
    capped = [f"-maxrregcount={cap}"] if cap else []
    words = ["nvcc", "-O3", "-arch=native", *capped, "-Xptxas", "-v", str(source)]
    done = subprocess.run(
        [*words, "-o", str(source.with_suffix(""))], capture_output=True, text=True, check=True
    )
    said = done.stdout + done.stderr
    registers = re.search(r"Used (\d+) registers", said)
    loads = re.search(r"(\d+) bytes spill loads", said)
    assert registers is not None
    assert loads is not None
    return int(registers[1]), int(loads[1])


def measure(device: str) -> None:
    """Print the document."""
    jobs = [(kernel, cap) for kernel in KERNELS for cap in CAPS]
    found: dict[str, dict[str, dict[str, Any]]] = {}
    with tempfile.TemporaryDirectory() as base, ThreadPoolExecutor() as pool:
        directory = Path(base)
        built = list(pool.map(lambda job: build(*job, directory), jobs))
        for (kernel, cap), (registers, loads) in zip(jobs, built, strict=True):
            program = directory / f"{kernel.stem}.{cap}"
            done = subprocess.run([program], capture_output=True, text=True, check=True)
            row = {"registers": registers, "spill_loads": loads, "ms": float(done.stdout)}
            found.setdefault(kernel.stem, {})[str(cap)] = row
    head = {"device": device, "block": BLOCK, "n": LENGTH}
    print(json.dumps({**head, "kernels": found}, indent=1))


def tuned(kernel: Path) -> Any:
    """What `lmemscope tune` says of a kernel."""
    words = [sys.executable, "-m", "lmemscope", "tune", str(kernel), "--block", str(BLOCK)]
    done = subprocess.run(
        [*words, "--arch", "sm_90", "--format", "json"], capture_output=True, check=True
    )
    (found,) = json.loads(done.stdout)["kernels"]
    return found


def ranks(values: list[float]) -> list[float]:
    """Positions in order; equal values share theirs."""
    order = sorted(values)
    return [order.index(one) + (order.count(one) - 1) / 2 for one in values]


def correlation(xs: list[float], ys: list[float]) -> float:
    """Spearman's."""
    a, b = ranks(xs), ranks(ys)
    mean = (len(a) - 1) / 2
    top = sum((x - mean) * (y - mean) for x, y in zip(a, b, strict=True))
    below = sum((x - mean) ** 2 for x in a) * sum((y - mean) ** 2 for y in b)
    return float(top / below**0.5)


def compare() -> None:
    """One line per kernel: the knee against the fastest cap, then all points together."""
    times = json.loads((DATA / "tune_knees.json").read_text())["kernels"]
    modelled: list[float] = []
    measured: list[float] = []
    near = 0
    for kernel in KERNELS:
        said, ms = tuned(kernel), {int(cap): row["ms"] for cap, row in times[kernel.stem].items()}
        first = said["points"][0]["cost"]
        for point in said["points"]:
            cap = point["cap"] or 0
            if cap in ms:
                modelled.append(point["cost"] / first)
                measured.append(ms[cap] / ms[0])
        (knee,) = (point["cap"] or 0 for point in said["points"] if point["is_knee"])
        best = min(ms, key=lambda cap: ms[cap])
        ratio = ms[knee] / ms[best]
        near += ratio <= 1.1
        shown = f"knee {knee or 'none':>4}  fastest {best or 'none':>4}  {ratio:.3f}"
        print(f"{kernel.stem:12} {shown}")
    rank = correlation(modelled, measured)
    print(f"{near} of {len(KERNELS)} knees within 10% of the fastest cap")
    print(f"rank correlation of {len(modelled)} points: {rank:.2f}")


if __name__ == "__main__":
    if sys.argv[1:] == ["compare"]:
        compare()
    elif sys.argv[1:2] == ["measure"] and len(sys.argv) == 3:
        measure(sys.argv[2])
    else:
        raise SystemExit(__doc__)
