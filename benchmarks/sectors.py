"""Predicted sectors per request of local memory, against a GPU's counters.

ncu --csv --clock-control none --metrics METRICS python benchmarks/sectors.py run > counters.csv
python benchmarks/sectors.py table counters.csv      # anywhere: prints docs/local-memory.md's table
python benchmarks/sectors.py metrics                 # the METRICS to ask for
"""

from __future__ import annotations

import csv
import io
import sys
from collections import defaultdict
from pathlib import Path

SOURCE = Path(__file__).with_name("sectors.cu")
NAMES = (
    *(f"{kind}_{width}" for kind in ("uniform", "lane", "data") for width in (1, 4, 8, 16)),
    "spill_4",
    "spill_8",
)
REQUESTS = "l1tex__t_requests_pipe_lsu_mem_local_op_ld.sum"
SECTORS = "l1tex__t_sectors_pipe_lsu_mem_local_op_ld.sum"
THREADS, LOOPS, STRIDE = 256, 200, 3


def run() -> None:
    """Launch every kernel once; also check what the driver says of the frame."""
    import cupy

    module = cupy.RawModule(code=SOURCE.read_text(), options=("-std=c++17",))
    order = cupy.random.RandomState(1).randint(0, 64, 32 * LOOPS).astype("int32")
    for name in NAMES:
        kernel = module.get_function(name)
        data = cupy.zeros(1 << 20, dtype=cupy.uint8)
        out = cupy.zeros(1 << 20, dtype=cupy.uint8)
        arguments = (data, out, cupy.int32(LOOPS), cupy.int32(STRIDE), order)
        kernel((1,), (THREADS,), arguments)
        cupy.cuda.runtime.deviceSynchronize()
        print(f"frame,{name},{kernel.local_size_bytes}", file=sys.stderr)


def table(counters: Path) -> None:
    """Prediction and measurement side by side."""
    from lmemscope.app.worker import analyse_unit
    from lmemscope.model import Unit

    text = counters.read_text()
    rows = csv.DictReader(io.StringIO(text[text.index('"ID"') :]))
    measured: dict[str, dict[str, float]] = defaultdict(dict)
    for row in rows:
        value = float(row["Metric Value"].replace(",", ""))
        measured[row["Kernel Name"].partition("(")[0]][row["Metric Name"]] = value
    report = analyse_unit(Unit(str(SOURCE), str(SOURCE.resolve()), "nvrtc", "sm_90"))
    facts = {kernel.facts.name: kernel.facts for kernel in report.kernels}
    print(
        "| kernel | width | index | predicted: sectors per request at most, requests "
        "| measured sectors per request |"
    )
    print("|---|--:|---|--:|--:|")
    for name in NAMES:
        # The most expensive loads are the ones in the measured loop.
        loads = [a for a in facts[name].accesses if not a.is_store]
        worst = max(loads, key=lambda a: (a.loop_depth, a.sectors or 0))
        found = measured[name][SECTORS] / measured[name][REQUESTS]
        uniformity = worst.cause if worst.cause == "register-spill" else worst.uniformity
        predicted = f"{worst.sectors}, {worst.requests}"
        print(f"| `{name}` | {worst.width} | {uniformity} | {predicted} | {found:.1f} |")


if __name__ == "__main__":
    if sys.argv[1:] == ["run"]:
        run()
    elif sys.argv[1:] == ["metrics"]:
        print(f"{REQUESTS},{SECTORS}")
    elif sys.argv[1:2] == ["table"] and len(sys.argv) == 3:
        table(Path(sys.argv[2]))
    else:
        sys.exit(__doc__)
