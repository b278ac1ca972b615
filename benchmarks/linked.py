"""Is what a link says what NVIDIA's own tools say of it, on programs of public repositories?

python benchmarks/linked.py --checkouts DIR [--program NAME ...] [--arch sm_90] [--list]

Each program of linked.json lies in DIR/OWNER+NAME, a checkout of its repository (--list prints the
clone commands). It is built twice, apart from each other: here by nvcc and nvlink as its build
would, and by `lmemscope scan --link`. Compared are, for each kernel,

- registers and stack against `nvlink -v` and against `cuobjdump -res-usage` of nvcc's image;
- the sum of the frames of the deepest path, from the image's call graph, against nvlink's stack;
- and for each image the calls that `lmemscope.formats.linked_image` reads against those that
  `nvlink -dump-callgraph` prints.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from lmemscope.analysis.linked_graph import linked_graph  # noqa: E402
from lmemscope.formats.demangle import demangle, short_name  # noqa: E402
from lmemscope.formats.kernel_names import stable_name  # noqa: E402
from lmemscope.formats.linked_image import read_image  # noqa: E402
from lmemscope.formats.nvlink_log import parse_nvlink_log  # noqa: E402
from lmemscope.tools.nvlink import device_runtime  # noqa: E402
from lmemscope.tools.toolchain import INSTALLED  # noqa: E402

_USAGE = re.compile(r"^ Function (\S+):\n  REG:(\d+) STACK:(\w+)", re.MULTILINE)
_RUNTIME = "cuda_device_runtime"
"""In the names of the kernels that libcudadevrt.a brings."""

_NODE = re.compile(r"^(\d+): ([\^&]*)(.*?)(?: \[\d+\])? ->(.*)$", re.MULTILINE)


@dataclass(frozen=True)
class Figures:
    """A kernel's registers and stack; None where the stack is not known."""

    registers: int
    stack: int | None


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--checkouts", type=Path, default=Path("checkouts"))
    parser.add_argument("--program", action="append", default=[])
    parser.add_argument("--arch", default="sm_90")
    parser.add_argument("--list", action="store_true")
    given = parser.parse_args(arguments)
    programs = json.loads(Path(__file__).with_name("linked.json").read_text())
    if given.list:
        for repository, branch in dict.fromkeys(
            (one["repository"], one.get("branch")) for one in programs
        ):
            place = given.checkouts / repository.replace("/", "+")
            of = f"-b {branch} " if branch else ""
            print(f"git clone --depth 1 {of}https://github.com/{repository} {place}")
        return 0
    totals: Counter[str] = Counter()
    print("| program | inputs | kernels | calls | unknown | differences |")
    print("|---|--:|--:|--:|--:|--:|")
    for program in programs:
        if not given.program or program["name"] in given.program:
            totals.update(_compared(program, given.checkouts, given.arch))
    print(dict(totals))
    return 1 if totals["differences"] or totals["failed"] else 0


def _compared(program: dict[str, Any], checkouts: Path, arch: str) -> dict[str, int]:
    base = checkouts / program["repository"].replace("/", "+")
    directory = base / program["directory"]
    patterns = program.get("files", ["*.cu"])
    files = sorted(path for pattern in patterns for path in directory.glob(pattern))
    flags = [f"-I{base / name}" for name in program.get("include", [])]
    flags += [f"-I{path}" for path in INSTALLED.header_dirs()]
    flags += program.get("flags", [])
    with tempfile.TemporaryDirectory() as scratch:
        try:
            theirs = _theirs(files, flags, arch, Path(scratch))
            ours = _ours(files, flags, arch, Path(scratch))
        except _NotBuiltError as error:
            print(f"| {program['name']} | {len(files)} | not built: {error} | | | |", flush=True)
            return {"failed": 1}
    differences = [*_differing(ours, theirs), *theirs.calls_differ]
    unknown = sum(figures.stack is None for figures in ours.kernels.values())
    found = {
        "programs": 1,
        "inputs": len(files),
        "kernels": len(ours.kernels),
        "calls": theirs.calls,
        "unknown": unknown,
        "differences": len(differences),
    }
    print(f"| {program['name']} | {' | '.join(map(str, list(found.values())[1:]))} |", flush=True)
    for one in differences:
        print(f"  {one}", flush=True)
    return found


@dataclass(frozen=True)
class Theirs:
    """What nvlink and cuobjdump say of nvcc's image."""

    log: dict[str, Figures]
    usage: dict[str, Figures]
    calls: int
    calls_differ: list[str]


@dataclass(frozen=True)
class Ours:
    """What lmemscope says; ``paths`` are sums of frames, of kernels without recursion."""

    kernels: dict[str, Figures]
    paths: dict[str, int]


class _NotBuiltError(Exception):
    pass


def _run(command: Sequence[str | Path], log: bool = False) -> str:
    done = subprocess.run(
        list(map(str, command)), capture_output=True, text=True, check=False, timeout=900
    )
    if done.returncode:
        said = [
            line for line in (done.stderr + done.stdout).splitlines() if "error" in line.lower()
        ]
        raise _NotBuiltError((said or [f"exit code {done.returncode}"])[0][:160])
    return done.stdout + done.stderr if log else done.stdout


def _theirs(files: Sequence[Path], flags: Sequence[str], arch: str, scratch: Path) -> Theirs:
    objects = []
    for number, path in enumerate(files):
        target = scratch / f"{number}.cubin"
        _run([INSTALLED.find("nvcc"), "-x", "cu", f"-arch={arch}", "-dc", "-cubin", *flags,
              path, "-o", target])  # fmt: skip
        objects.append(target)
    image = scratch / "linked.cubin"
    runtime = device_runtime()
    link = [INSTALLED.find("nvlink"), f"-arch={arch}", *objects, *([runtime] if runtime else [])]
    log = parse_nvlink_log(_run([*link, "-v", "-o", image], log=True))
    usage = _run([INSTALLED.find("cuobjdump"), "-res-usage", image], log=True)
    graph = _run([*link, "-dump-callgraph", "-o", image], log=True)
    calls, differing = _calls(graph, image)
    return Theirs(
        {
            stable_name(name): Figures(one.registers, one.stack if one.stack_known else None)
            for name, one in log.kernels.items()
            if _RUNTIME not in name
        },
        {
            stable_name(name): Figures(int(registers), int(stack) if stack.isdigit() else None)
            for name, registers, stack in _USAGE.findall(usage)
        },
        calls,
        differing,
    )


def _ours(files: Sequence[Path], flags: Sequence[str], arch: str, scratch: Path) -> Ours:
    inputs = []
    for path in files:
        if path.suffix != ".cu":
            # The build says `-x cu`; here the name has to, beside the headers it includes.
            (path.parent / f"{path.name}.cu").write_bytes(path.read_bytes())
            path = path.parent / f"{path.name}.cu"
        inputs.append(path)
    words = [f"--std={flag[5:]}" if flag.startswith("-std=") else flag for flag in flags]
    target = scratch / "report.json"
    command = [sys.executable, "-m", "lmemscope", "scan", "--link", "--no-causes", "--arch", arch]
    done = subprocess.run(
        list(map(str, [*command, *words, *inputs, "-o", target])),
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    if not target.exists():
        raise _NotBuiltError(done.stderr[-200:])
    (link,) = json.loads(target.read_text())["links"]
    if link["failure"]:
        raise _NotBuiltError(link["failure"]["message"])
    kernels = {}
    paths = {}
    for kernel in link["kernels"]:
        name = stable_name(kernel["function"]["name"])
        kernels[name] = Figures(kernel["function"]["registers"], kernel["linked_stack"])
        if kernel["stack_known"]:
            paths[name] = kernel["path"]["bytes"]
    return Ours(kernels, paths)


def _differing(ours: Ours, theirs: Theirs) -> Iterator[str]:
    expected = theirs.log
    for name in sorted(expected.keys() ^ ours.kernels.keys()):
        yield f"{name}: only {'nvlink' if name in expected else 'lmemscope'} has it"
    for name in sorted(expected.keys() & ours.kernels.keys()):
        said = ours.kernels[name]
        if said != expected[name]:
            yield f"{name}: {said}, nvlink {expected[name]}"
        if said != theirs.usage.get(name):
            yield f"{name}: {said}, cuobjdump {theirs.usage.get(name)}"
        if name in ours.paths and ours.paths[name] != said.stack:
            yield f"{name}: path of {ours.paths[name]} bytes, stack {said.stack}"


def _calls(printed: str, image: Path) -> tuple[int, list[str]]:
    """How many calls nvlink prints, and those that it or the reader of images has alone."""
    nodes = {number: (name, callees) for number, _, name, callees in _NODE.findall(printed)}
    theirs = Counter(
        (_base(name), _base(nodes[callee][0]))
        for name, callees in nodes.values()
        for callee in dict.fromkeys(callees.split())
    )
    graph = linked_graph(read_image(image.read_bytes()))
    ours = Counter(
        (_base(demangle(graph.functions[a].name)), _base(demangle(graph.functions[b].name)))
        for a, callees in graph.callees.items()
        for b in callees
    )
    only = [f"call {a} → {b}: only nvlink has it" for a, b in (theirs - ours)]
    only += [f"call {a} → {b}: only the reader has it" for a, b in (ours - theirs)]
    return sum(theirs.values()), only


def _base(demangled: str) -> str:
    """A function's name alone: the two demanglers spell types in other ways."""
    name = short_name(demangled.replace("(int)", "").replace("(anonymous namespace)::", ""))
    return re.split(r"[<(]", name)[0].rpartition("::")[2].strip() or name


if __name__ == "__main__":
    raise SystemExit(main())
