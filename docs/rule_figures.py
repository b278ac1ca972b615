"""The figures on the rules' pages, compiled: python -m docs.rule_figures writes rule_figures.json

`SCAN`, `DEBUG`, `FIX` and `bare_cubin` are what it runs; tests run the same and compare.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from docs.rule_examples import EXAMPLES, ROOT, Build, Example, Shown, keyed
from lmemscope.formats.demangle import short_name

TARGET = Path(__file__).parent / "rule_figures.json"
ARCH = "sm_90"
BLOCK = "128"
"""Threads of a block, for ``lmemscope fix``: those of `histogram_shared`."""
AS_JSON = ("--arch", ARCH, "--format", "json")
SCAN = ("scan", "kernels", *AS_JSON)
DEBUG = ("scan", "kernels/thirty_doubles.cu", "--nvrtc-arg=-G", *AS_JSON)
FIX = (
    *("fix", "kernels", "--block", BLOCK, *AS_JSON),
    *(f"--kernel={example.before.kernel}" for example in EXAMPLES if example.asked),
)
BARE = "histogram.cu"
"""What is compiled to a cubin without lines."""

Document = dict[str, Any]


def bare_cubin() -> bytes:
    """What `BARE` is without lines, which the program itself would always ask for."""
    from lmemscope.tools import nvrtc

    source = (ROOT / "kernels" / BARE).read_text()
    flags = (f"--gpu-architecture={ARCH}", "--ptxas-options=-v")
    return nvrtc.compile_program(source, BARE, flags, ()).cubin


def figures(scans: Mapping[Build, Document], fixes: Document) -> Document:
    """What the pages show.

    Args:
        scans: a report for each way to compile.
        fixes: what ``lmemscope fix`` says.

    Raises:
        LookupError: a kernel is not in a report.
    """
    tools = scans["release"]["toolchain"]
    return {
        "arch": ARCH,
        "toolkit": {name: tools[name]["version"] for name in sorted(tools)},
        "examples": {key: _figures_of(one, scans, fixes) for key, one in keyed()},
    }


def _figures_of(example: Example, scans: Mapping[Build, Document], fixes: Document) -> Document:
    def row(shown: Shown) -> Document:
        return _of_kernel(scans[shown.build], shown.kernel)

    return {
        "before": row(example.before),
        "after": row(example.after) if example.after is not None else None,
        "fix": _of_fix(example, fixes) if example.asked else None,
    }


def _of_kernel(scan: Document, name: str) -> Document:
    kernels = [kernel for unit in scan["units"] for kernel in unit["kernels"]]
    found = [kernel for kernel in kernels if short_name(kernel["demangled"]) == name]
    if len(found) != 1:
        raise LookupError(f"{len(found)} kernels are called {name}")
    (kernel,) = found
    told = ("severity", "rule", "name")
    return {
        "registers": kernel["registers"],
        "stack_frame": kernel["stack_frame"],
        "cumulative_stack": kernel["cumulative_stack"],
        "spill_stores": kernel["spill_stores"],
        "spill_loads": kernel["spill_loads"],
        "ldl": kernel["sass"]["ldl"],
        "stl": kernel["sass"]["stl"],
        "ptx_local": (kernel["ptx"] or {}).get("local_bytes"),
        "shared": kernel["shared"] or 0,
        "findings": [{key: one[key] for key in told} for one in kernel["findings"]],
    }


def _of_fix(example: Example, fixes: Document) -> Document:
    """The best that the rewrite makes of a kernel, or why there is none."""
    name = example.before.kernel
    tried = [one for one in fixes["candidates"] if short_name(one["kernel"]) == name]
    wanted = [one for one in tried if one["rewrite"] == example.rewrite]
    if not wanted:
        offered = [one["rewrite"] for one in tried if one["rank"] is not None]
        untried = [one["reason"] for one in fixes["untried"] if short_name(one["kernel"]) == name]
        vain = list(dict.fromkeys(one["rewrite"] for one in tried if one["rank"] is None))
        return {"offered": offered, "reason": untried[0] if untried else None, "vain": vain}
    best = min(wanted, key=lambda one: one["rank"] or len(tried) + 1)
    kept = ("rewrite", "verdict", "applicability", "summary", "caveat")
    rows = ("registers", "stack_frame", "spill_stores", "spill_loads", "ldl", "stl", "shared")
    return {name: best[name] for name in kept} | {
        "after": {row: best["after"][row] for row in rows}
    }


def _run(*arguments: str) -> Document:
    command = [sys.executable, "-m", "lmemscope", *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    document: Document = json.loads(done.stdout)
    return document


def main() -> None:
    with tempfile.TemporaryDirectory() as directory:
        cubin = Path(directory) / "bare.cubin"
        cubin.write_bytes(bare_cubin())
        bare = _run("scan", str(cubin), "--format", "json")
    scans: dict[Build, Document] = {"release": _run(*SCAN), "debug": _run(*DEBUG), "bare": bare}
    TARGET.write_text(json.dumps(figures(scans, _run(*FIX)), indent=1) + "\n")


if __name__ == "__main__":
    main()
