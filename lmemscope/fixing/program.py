"""The user's own program, before and after: ``--run`` builds and runs it on copies of the tree.

Nothing but what the user typed is run, and nothing of the user's own tree is changed by it.
"""

from __future__ import annotations

import math
import os
import shlex
import shutil
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from msgspec.structs import replace

from lmemscope.errors import LmemscopeError, UsageError
from lmemscope.model import Edit, ProgramRun, Trial
from lmemscope.sources.edits import by_file, patched
from lmemscope.tools import process
from lmemscope.tools.git import Repository

_MOST = 1 << 28
"""Bytes of output that are compared; a program that prints more is stopped."""
_SHOWN = 300


@dataclass(frozen=True, slots=True)
class Program:
    """What ``--run`` is to run.

    Attributes:
        command: program and arguments; it builds what it needs.
        rtol: relative difference that numbers in the output may have; None: bytes are equal.
    """

    command: tuple[str, ...]
    rtol: float | None = None


@dataclass(frozen=True, slots=True)
class _Result:
    code: int
    output: bytes
    seconds: float
    errors: str


def with_runs(trials: Sequence[Trial], program: Program) -> tuple[Trial, ...]:
    """Trials with what the program did with each rewriting that is offered.

    What changes the program's output is not offered any more.

    Raises:
        LmemscopeError: the program cannot be started, or fails as it is.
    """
    edits = dict.fromkeys(one.rewriting.edits for one in trials if one.rank is not None)
    if not edits:
        return tuple(trials)
    root = _root({edit.file for own in edits for edit in own})
    with _copy(root, ()) as directory:
        before = _run(program, directory, root)
    if before.code:
        raise LmemscopeError(
            "run",
            f"{shlex.join(program.command)} ends with {before.code} on a copy of {root}",
            hint="try it there by hand; paths in it must not lead out of that directory",
            log=before.errors[-_SHOWN:] or None,
        )
    runs: dict[tuple[Edit, ...], ProgramRun] = {}
    for own in edits:
        with _copy(root, own) as directory:
            after = _run(program, directory, root)
        same = after.code == 0 and is_same(before.output, after.output, program.rtol)
        runs[own] = ProgramRun(same, before.seconds, after.seconds)
    return tuple(_with(one, runs.get(one.rewriting.edits)) for one in trials)


def is_same(before: bytes, after: bytes, rtol: float | None) -> bool:
    """Whether two outputs are equal, or equal but for numbers that are near each other.

    Args:
        before, after: what the program printed.
        rtol: relative difference that numbers may have; None: none.
    """
    if before == after or rtol is None:
        return before == after
    first, second = before.split(), after.split()
    return len(first) == len(second) and all(
        one == other or _is_near(one, other, rtol) for one, other in zip(first, second, strict=True)
    )


def _is_near(one: bytes, other: bytes, rtol: float) -> bool:
    try:
        return math.isclose(float(one), float(other), rel_tol=rtol)
    except ValueError:
        return False


def _with(trial: Trial, run: ProgramRun | None) -> Trial:
    if run is None or trial.rank is None:
        return trial
    if run.same:
        return replace(trial, run=run)
    return replace(trial, run=run, rank=None, error="the program's output differs")


def _run(program: Program, directory: str, root: str) -> _Result:
    """Run it where the working directory is in the copy."""
    inside = os.path.relpath(os.path.realpath(os.getcwd()), root)
    where = directory if inside.startswith(os.pardir) else os.path.join(directory, inside)
    began = time.monotonic()
    done = process.capture(program.command, dict(os.environ), cwd=where, most=_MOST)
    return _Result(done.returncode, done.output, time.monotonic() - began, done.errors)


def _root(files: Iterable[str]) -> str:
    """The directory that is copied: the repository's, else the working directory, which must hold
    all files.

    Raises:
        UsageError: it does not.
    """
    real = [os.path.realpath(file) for file in files]
    repository, _ = Repository.around(os.getcwd())
    root = repository.top if repository is not None else os.path.realpath(os.getcwd())
    outside = [file for file in real if not file.startswith(f"{root}{os.sep}")]
    if outside:
        raise UsageError(
            "run",
            f"{outside[0]} is not below {root}, which --run copies",
            hint="start lmemscope in the directory that holds the program's sources",
        )
    return root


@contextmanager
def _copy(root: str, edits: Sequence[Edit]) -> Iterator[str]:
    """A copy of a directory with edits made; git's own data aside."""
    with tempfile.TemporaryDirectory(prefix="run-", ignore_cleanup_errors=True) as scratch:
        copy = os.path.join(scratch, os.path.basename(root) or "tree")
        shutil.copytree(root, copy, symlinks=True, ignore=shutil.ignore_patterns(".git"))
        for file, own in by_file(edits).items():
            path = os.path.join(copy, os.path.relpath(os.path.realpath(file), root))
            with open(path, "rb") as stream:
                data = patched(stream.read(), own)
            with open(path, "wb") as stream:
                stream.write(data)
        yield copy
