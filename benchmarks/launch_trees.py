"""Launch trees of public programs against labels that were made by hand from their sources.

    python benchmarks/launch_trees.py MIRRORS [--arch sm_90]

MIRRORS holds a bare repository ``owner+name/repo`` (or ``owner+name``) of each in launches.json,
with the commit that is named there. A program that the toolkit takes is compiled; of one that it
refuses, and of headers, the tree is the source's.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from lmemscope.formats.demangle import demangle, short_name
from lmemscope.sources.cuda import read_cuda_source

LABELS = Path(__file__).with_name("launches.json")
Size = tuple[int | None, ...] | None
Edge = tuple[str | None, str, str, int, Size, Size, str]
"""Kernel, function around the launch, child, line, grid, block, stream."""
_SUFFIXES = frozenset((".cu", ".cuh", ".h", ".hpp", ".inl"))


def labelled(program: dict[str, Any]) -> set[Edge]:
    """What a person read."""
    return {
        (one["parent"], one["in"], one["child"], one["line"], _size(one["grid"]),
         _size(one["block"]), one["stream"])
        for one in program["launches"]
    }  # fmt: skip


def compiled(path: Path, options: list[str], arch: str) -> tuple[str, set[Edge]]:
    """What a scan says, and by which route, or why there is none."""
    command = [sys.executable, "-m", "lmemscope", "scan", str(path), "--format", "json"]
    done = subprocess.run(
        [*command, "--arch", arch, *options], capture_output=True, text=True, check=False
    )
    [unit] = json.loads(done.stdout)["units"]
    found: set[Edge] = set()
    for kernel in unit["kernels"]:
        if kernel["kind"] == "entry":
            parent = _plain(kernel["demangled"])
            found |= {_edge(parent, kernel["name"], one) for one in kernel["launches"]}
    for one in unit["launches"]:
        found |= {_edge(parent, "", one) for parent in one["parents"] or [None]}
    return unit["failure"]["stage"] if unit["failure"] else unit["frontend"], found


def read(path: Path) -> set[Edge]:
    """What the text of a header says."""
    source = read_cuda_source(path.read_text("utf-8", "replace"))
    return {
        (parent, one.function, one.base, one.line, _size(one.grid), _size(one.block), one.stream)
        for one in source.device_launches
        for parent in one.kernels or (None,)
    }


def _edge(parent: str | None, kernel: str, one: dict[str, Any]) -> Edge:
    child = _plain(one["demangled"] or "?")
    function = one["function"]
    around = parent if function == kernel else _plain(demangle(function).partition("$")[0])
    sizes = _size(one["grid"]), _size(one["block"])
    return parent, around or "", child, one["location"]["line"], *sizes, one["stream"]


def _size(given: Any) -> Size:
    """Three numbers, or None where not all are known."""
    return None if given is None or None in given else tuple(given)


def _plain(demangled: str) -> str:
    return short_name(demangled).partition("<")[0].rpartition("::")[2]


def checked_out(mirrors: Path, program: dict[str, Any], commit: str, place: Path) -> Path:
    """The sources and headers of a commit around a program; mirrors may lack anything else."""
    repository = program["repository"].replace("/", "+")
    target, git = place / repository, mirrors / repository
    base = ["git", f"--git-dir={git / 'repo' if (git / 'repo').is_dir() else git}"]
    around = str(Path(program["path"]).parent.parent)
    folders = [around, *(one for one in program.get("options", ()) if not one.startswith("-"))]
    listed = [*base, "ls-tree", "-r", "--name-only", commit, "--", *folders]
    named = subprocess.run(listed, capture_output=True, text=True, check=True).stdout
    for name in named.splitlines():
        if Path(name).suffix in _SUFFIXES and not (target / name).exists():
            shown = subprocess.run(
                [*base, "show", f"{commit}:{name}"], capture_output=True, check=False
            )
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            (target / name).write_bytes(shown.stdout)
    return target


def main() -> None:
    """Compare every program, and print what differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("mirrors", type=Path)
    parser.add_argument("--arch", default="sm_90")
    parser.add_argument("--only", default="")
    given = parser.parse_args()
    labels = json.loads(LABELS.read_text())
    tally: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as place:
        for program in labels["programs"]:
            repository, path = program["repository"], program["path"]
            if given.only not in path:
                continue
            commit = labels["commits"][repository]
            root = checked_out(given.mirrors, program, commit, Path(place))
            options = [
                str(root / one) if (root / one).is_dir() else one
                for one in program.get("options", ())
            ]
            if path.endswith(".h"):
                route, found = "text", read(root / path)
            else:
                route, found = compiled(root / path, options, given.arch)
            wanted = labelled(program)
            edges = {one[:4] for one in wanted} == {one[:4] for one in found}
            tally.update(programs=1, edges_right=edges, all_right=wanted == found)
            tally["launches"] += len(wanted)
            print(f"{'same' if wanted == found else 'DIFFERS'}  {route:8} {repository} {path}")
            for sign, rest in (("-", wanted - found), ("+", found - wanted)):
                for one in sorted(rest, key=str):
                    print(f"    {sign} {one}")
    print(dict(tally))


if __name__ == "__main__":
    main()
