"""Make the seeds anew with the installed toolchain: `python -m tests.fuzz.record`.

Small kernels with what each front end, assembler and disassembler makes of them.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from lmemscope.tools.toolchain import INSTALLED

SEEDS = Path(__file__).parent / "seeds"
ROOT = Path(__file__).parents[2]
SMALL = 11_000
COPIES = Path("/tmp/lmemscope-seeds")
KERNELS = (
    "call_with_array",
    "callee_saves",
    "constant_table",
    "parameter_copy",
    "recursion",
    "rolled_loop",
)


def main() -> None:
    SEEDS.mkdir(exist_ok=True)
    for name in KERNELS:
        _record(name)
    _own("scan", "--format", "json", output="scan.report.json")
    _own("baseline", output="scan.baseline.json")


def _record(name: str) -> None:
    nvcc, nvdisasm = INSTALLED.find("nvcc"), INSTALLED.find("nvdisasm")
    # Paths become part of the outputs: theirs must not depend on where the checkout lies.
    COPIES.mkdir(exist_ok=True)
    source = str(shutil.copy(ROOT / "kernels" / f"{name}.cu", COPIES))
    common = ("-arch=sm_90", "-std=c++17", source)
    ptx, cubin = SEEDS / f"{name}.ptx", SEEDS / f"{name}.cubin"
    _run(nvcc, "-ptx", "-lineinfo", *common, "-o", str(ptx))
    with tempfile.TemporaryDirectory() as directory:
        copy = Path(directory, "kernel.ptx")
        copy.write_bytes(ptx.read_bytes())
        ptxas = INSTALLED.find("ptxas")
        said = _run(ptxas, "-v", "-arch=sm_90", "-lineinfo", str(copy), "-o", str(cubin))
    (SEEDS / f"{name}.log").write_text(said)
    _run(nvcc, "-ptx", "-G", *common, "-o", str(SEEDS / f"{name}.debug.ptx"))
    (SEEDS / f"{name}.sass.json").write_text(_run(nvdisasm, "-json", "-annotate", str(cubin)))
    (SEEDS / f"{name}.sass").write_text(_run(nvdisasm, "-c", "-g", "-gi", "-gp", str(cubin)))
    if cubin.stat().st_size < SMALL:
        live = _run(nvdisasm, "-c", "-plr", "-lrm", "count", str(cubin))
        (SEEDS / f"{name}.live").write_text(live)


def _own(command: str, *options: str, output: str) -> None:
    sources = [f"kernels/{name}.cu" for name in KERNELS]
    path = SEEDS / output
    _run(sys.executable, "-m", "lmemscope", command, *sources, *options, "-o", str(path))
    path.write_text(path.read_text().replace(sys.prefix, "/opt/venv"))


def _run(*command: str) -> str:
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=300
    )
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


if __name__ == "__main__":
    main()
