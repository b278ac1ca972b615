"""The objects of public repositories on which `lmemscope fix` is judged, and their sources.

python benchmarks/fixes.py --sources DIR [--write OUT | --propose FILE]
python benchmarks/fixes.py --sources DIR --judge FILE [--without REWRITE]...

fixes.json says how they were drawn: by a seed, before any rewrite was written. DIR/OWNER+NAME is a
clone or a bare mirror (DIR/OWNER+NAME/repo serves too) of each repository, and holds the commit
that the list names. What the objects' files need is written below a temporary directory, or below
OUT, as OUT/OWNER+NAME; with --write nothing else is done, and each file is printed with its
options. With --judge every object is tried: FILE takes what came of it, one object per line, and
the best patch of each is applied by git and scanned again. With --without, `fix` lacks a rewrite:
what an object loses then is what the rewrite is worth. --propose compiles no rewriting: it takes
minutes, not hours, and shows which rewrites have something for which object, as
data/fixes_proposed.json says of all 24 that there were before the first was removed; null of files
that were not compiled in time, or without headers of cuBLAS.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, Any

LIST = Path(__file__).with_name("fixes.json")
IN_PARTS = "zjin-lcf/HeCBench"
"""Hundreds of programs in one repository, each in a directory src/NAME that needs no other but
those that its options name."""
LARGEST = 2_000_000
"""Bytes; what is larger is a program's data, not its source."""


@dataclass(frozen=True, slots=True)
class Place:
    """A line of a file; the file is relative to its repository."""

    file: str
    line: int


@dataclass(frozen=True, slots=True)
class Entry:
    """An object in local memory, as `scan` finds it before any rewrite."""

    project: str
    """OWNER/NAME on GitHub."""
    commit: str
    path: str
    """The file to compile, relative to the repository, as are the directories in `options`."""
    options: tuple[str, ...]
    kernel: str
    """One kernel that has the object; others may have it too."""
    object: str
    type: str | None
    cause: str
    bytes: int
    declared: Place
    file: str
    """Where the finding points, with `line`: a header for much of what headers declare."""
    line: int


@dataclass(frozen=True, slots=True)
class Source:
    """An entry's file as it was written out, and the options that it compiles with."""

    entry: Entry
    file: Path
    options: tuple[str, ...]

    @property
    def root(self) -> Path:
        """The repository's: patches of headers apply there."""
        return self.file.parents[len(PurePosixPath(self.entry.path).parts) - 1]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--sources", type=Path, required=True)
    parser.add_argument("--write", type=Path, metavar="OUT")
    parser.add_argument("--judge", type=Path, metavar="FILE")
    parser.add_argument("--propose", type=Path, metavar="FILE")
    parser.add_argument("--without", action="append", default=[], metavar="REWRITE")
    given = parser.parse_args(arguments)
    entries = read()
    if given.write:
        for source in written(entries, given.sources, given.write.resolve()):
            print(source.file, *source.options)
        return 0
    with tempfile.TemporaryDirectory() as directory:
        sources = [*written(entries, given.sources, Path(directory).resolve())]
        if given.propose:
            rows = [proposed(source) for source in sources]
            given.propose.write_text(json.dumps(rows, indent=1) + "\n")
            return 0
        if given.judge:
            judged = judged_all(sources, given.without)
            given.judge.write_text("".join(f"{json.dumps(one)}\n" for one in judged))
            print(*summary(judged), sep="\n")
            return 0
        for source in sources:
            print(source.entry.project, source.entry.path, source.entry.object, source.entry.cause)
    return 0


def read(path: Path = LIST) -> list[Entry]:
    """The list, in its order."""
    return [
        Entry(**{**one, "options": tuple(one["options"]), "declared": Place(**one["declared"])})
        for one in json.loads(path.read_text(encoding="utf-8"))["objects"]
    ]


def written(entries: Sequence[Entry], sources: Path, out: Path) -> Iterator[Source]:
    """Each entry's file with its options, all repositories having been written below `out`."""
    needed: dict[tuple[str, str], dict[str, None]] = {}
    for entry in entries:
        needed.setdefault((entry.project, entry.commit), {}).update(dict.fromkeys(_parts(entry)))
    for (project, commit), parts in needed.items():
        _write(_repository(sources, project), commit, list(parts), _root(out, project))
    for entry in entries:
        root = _root(out, entry.project)
        file = root / entry.path
        if not file.is_file():
            sys.exit(f"{entry.project} holds no {entry.path} at {entry.commit}")
        options = (
            str(root / value) if before == "-I" else value
            for before, value in zip(("", *entry.options), entry.options, strict=False)
        )
        yield Source(entry, file, tuple(options))


def judged_all(sources: Sequence[Source], without: Sequence[str] = ()) -> list[dict[str, Any]]:
    """Each object's result, two repositories at a time: patches change files of their own.

    Args:
        sources: the objects' files.
        without: names of the rewrites that `fix` lacks.
    """
    projects: dict[str, list[int]] = {}
    for number, source in enumerate(sources):
        projects.setdefault(source.entry.project, []).append(number)
    found: dict[int, dict[str, Any]] = {}

    def of_project(numbers: list[int]) -> None:
        for number in numbers:
            found[number] = judge(sources[number], without)
            print(len(found), "of", len(sources), file=sys.stderr, flush=True)

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(of_project, sorted(projects.values(), key=len, reverse=True)))
    return [found[number] for number in sorted(found)]


def judge(source: Source, without: Sequence[str] = ()) -> dict[str, Any]:
    """What `lmemscope fix` offers for an object, and whether its best patch does what it says."""
    entry = source.entry
    began = time.monotonic()
    arguments = ["fix", str(source.file), *source.options, "--object", entry.object]
    arguments += ["--arch", "sm_90", "--format", "json", "-j", "1"]
    found = _run(*arguments, directory=source.root, without=without)
    own = [one for one in found["candidates"] if _is_of(one, entry)]
    tried = {one["rewrite"]: one["verdict"] for one in own}
    offered = [one for one in own if one["verdict"] in ("removed", "reduced")]
    order = sorted(offered, key=lambda one: (one["rank"] is None, one["rank"], one["verdict"]))
    best = next((one for one in order if one["verdict"] == "removed"), None) or next(
        iter(order), None
    )
    reasons = {one["reason"] for one in found["untried"] if one["object"] == entry.object}
    return {
        "project": entry.project,
        "path": entry.path,
        "object": entry.object,
        "cause": entry.cause,
        "tried": tried,
        "removed_by": {
            one["rewrite"]: _worth(one) for one in reversed(order) if one["verdict"] == "removed"
        },
        "safe": any(
            one["verdict"] == "removed" and one["applicability"] == "safe" for one in offered
        ),
        "best": best
        and {key: best[key] for key in ("rewrite", "applicability", "verdict", "rank")},
        "applies": _applies(source, best["patch"], best["verdict"]) if best else None,
        "untried": sorted(reasons),
        "errors": sorted({one["error"] for one in own if one["error"]})[:4],
        "seconds": round(time.monotonic() - began, 1),
    }


def proposed(source: Source) -> dict[str, Any]:
    """Which rewrites have something for an object, and whether that is safe; nothing is tried."""
    entry = source.entry
    with tempfile.TemporaryDirectory() as directory:
        out = Path(directory) / "proposed"
        arguments = ["fix", str(source.file), *source.options, "--object", entry.object]
        program = [sys.executable, "-c", _PROPOSING, str(out), *arguments, "--arch", "sm_90"]
        subprocess.run(program, cwd=source.root, capture_output=True, check=False)
        rows = [json.loads(line) for line in out.read_text().splitlines()] if out.exists() else None
    found = {name: how for line, name, how in rows or () if line == entry.line}
    return {
        **{key: getattr(entry, key) for key in ("project", "path", "object", "cause")},
        "proposed": None if rows is None else dict(sorted(found.items())),
    }


def summary(judged: Sequence[dict[str, Any]]) -> Iterator[str]:
    """The figures of docs/fix.md."""
    removed = [one for one in judged if one["removed_by"]]
    yield f"{len(judged)} objects, {len(removed)} removed by a proven fix"
    yield f"{sum(one['safe'] for one in removed)} of them by a safe one"
    yield f"{sum(bool(one['best']) and not one['removed_by'] for one in judged)} only reduced"
    yield f"{sum(one['applies'] is False for one in judged)} patches that do not apply or not help"
    for rewrite in sorted({name for one in judged for name in one["tried"]}):
        verdicts = [one["tried"][rewrite] for one in judged if rewrite in one["tried"]]
        yield f"{rewrite}: tried {len(verdicts)}, removed {verdicts.count('removed')}"


def _is_of(candidate: dict[str, Any], entry: Entry) -> bool:
    place = candidate["location"]
    return (
        candidate["object"] == entry.object
        and place is not None
        and place["line"] == entry.line
        and place["file"].endswith(PurePosixPath(entry.file).name)
    )


def _worth(candidate: dict[str, Any]) -> dict[str, Any]:
    """How a rewriting that removes an object is offered, and how much faster it is modelled."""
    before, after = candidate["cost_before"], candidate["cost_after"]
    return {
        "applicability": candidate["applicability"],
        "modelled": round(before / after, 3) if before and after else None,
    }


def _applies(source: Source, patch: str, verdict: str) -> bool:
    """Whether git applies a patch, and a scan of the result finds what it is said to do.

    A frame is smaller if an object is removed, and no kernel has more of it, or spills more. The
    files are as they were afterwards.
    """
    directory = source.root
    before = _frames(source)
    given = patch.encode("utf-8", "surrogateescape")
    git = ["git", "apply", "--unsafe-paths", "--whitespace=nowarn", "-p1"]
    if subprocess.run(git, cwd=directory, input=given, check=False).returncode:
        return False
    try:
        after = _frames(source)
    finally:
        subprocess.run([*git, "--reverse"], cwd=directory, input=given, check=True)
    grown = any(
        now > was
        for name, figures in before.items()
        for was, now in zip(figures, after.get(name, figures), strict=True)
    )
    shrunk = any(after.get(name, (0, 0))[0] < frame for name, (frame, _) in before.items())
    return (shrunk or verdict == "reduced") and not grown and after.keys() == before.keys()


def _frames(source: Source) -> dict[str, tuple[int, int]]:
    """Frames of each kernel and of what it calls, and its spills, in bytes."""
    arguments = ["scan", str(source.file), *source.options, "--arch", "sm_90", "--no-causes"]
    found = _run(*arguments, "--no-cache", "--format", "json", directory=source.root)
    return {
        kernel["demangled"]: (
            (kernel["stack_frame"] or 0)
            + sum((one["ptxas"] or {}).get("stack_frame") or 0 for one in kernel["callees"]),
            (kernel["spill_stores"] or 0) + (kernel["spill_loads"] or 0),
        )
        for unit in found["units"]
        for kernel in unit["kernels"]
    }


_PROPOSING = """
import json, sys
from lmemscope.__main__ import main
from lmemscope.fixing import run
out = open(sys.argv.pop(1), "w")
def note(self, target, results, rewriting, **how):
    line = target.place.line if target.place else None
    out.write(json.dumps([line, rewriting.rewrite, rewriting.applicability]) + "\\n")
    out.flush()
run.Attempts.start = note
run._try_all = lambda *given: None
main()
"""
_WITHOUT = """
import sys
from lmemscope import rewrites
from lmemscope.__main__ import main
left_out = sys.argv.pop(1).split(",")
if unknown := {*left_out} - {one.name for one in rewrites.REWRITES}:
    sys.exit(f"no rewrite {', '.join(unknown)}")
rewrites.REWRITES = tuple(one for one in rewrites.REWRITES if one.name not in left_out)
main()
"""


def _run(*arguments: str, directory: Path, without: Sequence[str] = ()) -> Any:
    program = ["-c", _WITHOUT, ",".join(without)] if without else ["-m", "lmemscope"]
    done = subprocess.run(
        [sys.executable, *program, *arguments],
        cwd=directory,
        capture_output=True,
        text=True,
        check=False,
    )
    if not done.stdout:
        return {"candidates": [], "untried": [], "units": []}
    return json.loads(done.stdout)


def _root(out: Path, project: str) -> Path:
    return out / project.replace("/", "+")


def _parts(entry: Entry) -> list[str]:
    """The directories that the entry's file needs; "." is the whole repository."""
    if entry.project != IN_PARTS:
        return ["."]
    named = [value for value in entry.options if value != "-I"]
    return ["/".join(PurePosixPath(entry.path).parts[:2]), *named]


def _repository(sources: Path, project: str) -> Path:
    place = _root(sources, project)
    for path in (place, place / "repo"):
        if (path / ".git").exists() or (path / "HEAD").is_file():
            return path
    sys.exit(f"{project}: no clone; git clone https://github.com/{project} {place}")


def _write(repository: Path, commit: str, parts: Sequence[str], root: Path) -> None:
    """Write the files of some directories at a commit below `root`.

    Blob by blob, since `git archive` stops at the first that a partial clone lacks.
    """
    git = ["git", "-C", str(repository)]
    listed = subprocess.run(
        [*git, "ls-tree", "-r", "-z", "--full-tree", commit, "--", *parts],
        capture_output=True,
        check=False,
    )
    if listed.returncode:
        sys.exit(f"{repository}: {listed.stderr.decode(errors='replace').strip()}")
    paths: list[str] = []
    with tempfile.TemporaryFile() as wanted:
        for line in listed.stdout.decode("utf-8", "surrogateescape").split("\0")[:-1]:
            mode, kind, blob, path = line.replace("\t", " ", 1).split(" ", 3)
            if kind == "blob" and mode != "120000":
                paths.append(path)
                wanted.write(f"{blob}\n".encode())
        wanted.seek(0)
        with subprocess.Popen(
            [*git, "cat-file", "--batch"], stdin=wanted, stdout=subprocess.PIPE
        ) as process:
            assert process.stdout
            for path in paths:
                content = _next_blob(process.stdout)
                if content is not None:
                    target = root / path
                    target.parent.mkdir(parents=True, exist_ok=True)
                    target.write_bytes(content)


def _next_blob(stream: IO[bytes]) -> bytes | None:
    """What `cat-file --batch` prints next; None for what is absent, or too large to be source."""
    head = stream.readline().split()
    if head[-1] == b"missing":
        return None
    size = int(head[2])
    content = stream.read(size + 1)[:-1]
    return content if size <= LARGEST else None


if __name__ == "__main__":
    sys.exit(main())
