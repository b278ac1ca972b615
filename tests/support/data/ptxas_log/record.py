"""Record what the ptxas and nvlink of many toolkit versions print for cases.ptx.

Run by hand when a toolkit version is added:
``python tests/support/data/ptxas_log/record.py 13.6.20``
(wheel versions of NVIDIA's nvcc packages on PyPI; without arguments, all of `VERSIONS`). It
downloads each wheel, runs its tools, and writes ``VERSION/CASE.log``. cases.ptx itself is made
from cases.cu with ``--ptx`` and the installed NVRTC, its ISA version lowered to 7.0, so that
every toolkit takes the same text.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

HERE = Path(__file__).parent
VERSIONS = (
    "11.7.99",
    "11.8.89",
    "12.0.140",
    "12.3.107",
    "12.4.131",
    "12.5.82",
    "12.6.85",
    "12.8.93",
    "12.9.86",
    "13.0.88",
    "13.4.92",
    "13.5.37",
)
CASES = {
    "plain": ["ptxas", "-v", "-arch=sm_80", "cases.ptx"],
    "capped": ["ptxas", "-v", "-arch=sm_80", "-maxrregcount=40", "cases.ptx"],
    "below-lower-bound": ["ptxas", "-v", "-arch=sm_80", "-maxrregcount=8", "cases.ptx"],
    "warnings": [
        "ptxas",
        "-v",
        "-arch=sm_80",
        "-warn-spills",
        "-warn-lmem-usage",
        "cases.ptx",
    ],
    "relocatable": ["ptxas", "-v", "-arch=sm_80", "-c", "cases.ptx", "-o", "cases.o"],
    "linked": ["nvlink", "-v", "-arch=sm_80", "cases.o", "-o", "cases.cubin"],
    "newer-ptx": ["ptxas", "-v", "-arch=sm_80", "newer.ptx"],
    "syntax-error": ["ptxas", "-v", "-arch=sm_80", "broken.ptx"],
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("versions", nargs="*", default=VERSIONS)
    parser.add_argument("--ptx", action="store_true", help="make cases.ptx again")
    arguments = parser.parse_args()
    if arguments.ptx:
        make_ptx()
    for version in arguments.versions:
        record(version)


def make_ptx() -> None:
    from lmemscope.tools import nvrtc

    source = (HERE / "cases.cu").read_text()
    result = nvrtc.compile_program(source, "cases.cu", ("--gpu-architecture=sm_80",), ())
    text = re.sub(rb"\.version \d+\.\d+", b".version 7.0", result.ptx)
    (HERE / "cases.ptx").write_bytes(text.rstrip(b"\0"))


def record(version: str) -> None:
    with tempfile.TemporaryDirectory() as directory:
        work = Path(directory)
        tools = download(version, work)
        text = (HERE / "cases.ptx").read_text()
        (work / "cases.ptx").write_text(text)
        (work / "newer.ptx").write_text(text.replace(".version 7.0", ".version 42.0"))
        (work / "broken.ptx").write_text(text.replace("\tret;", "\tretrun;", 1))
        target = HERE / version
        target.mkdir(exist_ok=True)
        for case, command in CASES.items():
            if not (tools / command[0]).exists():
                continue  # the wheels before 13.0 bring no nvlink
            done = subprocess.run(
                [str(tools / command[0]), *command[1:]],
                cwd=work,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                check=False,
            )
            (target / f"{case}.log").write_text(done.stdout)
        print(version, "recorded")


def download(version: str, work: Path) -> Path:
    major = int(version.partition(".")[0])
    package = "nvidia-cuda-nvcc" + (f"-cu{major}" if major < 13 else "")
    subprocess.run(
        [
            sys.executable,
            "-m",
            "pip",
            "download",
            "-q",
            "--no-deps",
            "-d",
            str(work),
            f"{package}=={version}",
        ],
        check=True,
    )
    wheel = next(work.glob("*.whl"))
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(work)
    ptxas = next(work.glob("nvidia/**/bin/ptxas"))
    for tool in ("ptxas", "nvlink"):
        if ptxas.with_name(tool).exists():
            ptxas.with_name(tool).chmod(0o755)
    return ptxas.parent


if __name__ == "__main__":
    main()
