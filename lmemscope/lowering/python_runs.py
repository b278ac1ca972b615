"""Run a user's Python file in a separate process, on request, and collect the kernels it makes."""

from __future__ import annotations

import functools
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from lmemscope.errors import CompileError, StageTimeoutError
from lmemscope.model import Gap, Unit
from lmemscope.sources.cupy import CupyProgram
from lmemscope.sources.cupy_captured import captured_programs
from lmemscope.sources.python import Program, read_programs
from lmemscope.tools import cupy_capture, process

_SHARE = 0.8
"""Fraction of the unit's time limit: the child must end first, or nothing would end it."""
_SECONDS = 120.0
"""Time limit in seconds for running a user's file without ``--timeout``."""


def time_limit(unit: Unit) -> float:
    """Time limit in seconds for running a unit's file."""
    return (unit.options.time_limit or _SECONDS) * _SHARE


def ask(child: str, request: dict[str, Any], name: str, limit: float) -> tuple[dict[str, Any], str]:
    """Run a program that executes the user's file; return its answer and what the file printed.

    Args:
        child: the program's path.
        request: its input.
        name: of the file, for messages.
        limit: in seconds.

    Raises:
        CompileError: the process ended without an answer.
        StageTimeoutError: it took longer than the limit.
    """
    with tempfile.TemporaryDirectory(prefix="lmemscope-") as directory:
        asked, answered = Path(directory, "request.json"), Path(directory, "answer.json")
        asked.write_text(json.dumps(request), encoding="utf-8")
        # Run as a file with -P: only the user's file may import from the current directory.
        command = [sys.executable, "-P", child, str(asked), str(answered)]
        try:
            done = process.run(command, timeout=limit)
        except StageTimeoutError as error:
            raise StageTimeoutError(
                "run",
                f"{name}: running it and compiling its kernel took longer than {limit:g} s",
                hint=f"raise --timeout, of which this is {_SHARE:.0%}",
            ) from error
        if not answered.exists():
            raise CompileError(
                "run",
                f"{name}: running it ended the process with code {done.returncode}",
                hint="guard what must not run on import with: if __name__ == '__main__'",
                log=done.output,
            )
        answer: dict[str, Any] = json.loads(answered.read_text(encoding="utf-8"))
    return answer, done.output


def programs_of(unit: Unit) -> tuple[list[Program], Gap | None]:
    """The programs in a file that may be run: those in its text, and those made by running it.

    The file is run if its text names no program or leaves one undetermined; undetermined programs
    are then replaced by what their call made.

    Returns:
        The programs, and a gap if the run ended with an error.

    Raises:
        LmemscopeError: the file cannot be read, or its run gives no answer.
    """
    read = read_programs(unit.path, unit.input)
    open_lines = {one.line for one in read if isinstance(one, CupyProgram) and one.problem}
    if not unit.options.run_python or (read and not open_lines):
        return read, None
    made, failure = _captured(
        unit.path, os.stat(unit.path).st_mtime_ns, unit.input, time_limit(unit)
    )
    new = [one for file, one in made if file != unit.path or one.line in open_lines or not read]
    closed = {one.line for file, one in made if file == unit.path}
    kept = [one for one in read if one.line not in open_lines & closed]
    in_order = [*kept, *new]
    if failure is None:
        return in_order, None
    before = "what it made before was read" if new else "before it made a kernel"
    reason = f"running {unit.input} ended with {failure}; {before}"
    return in_order, Gap("run", reason, "evidence", unit.input)


@functools.lru_cache(maxsize=8)
def _captured(
    path: str, changed: int, name: str, limit: float
) -> tuple[tuple[tuple[str, CupyProgram], ...], str | None]:
    """Programs made by running a file, each with the file of its call, and the run's error.

    Args:
        path: of the file.
        changed: its modification time, so that a changed file is run again.
        name: for messages.
        limit: in seconds.
    """
    del changed
    answer, _ = ask(cupy_capture.__file__, {"path": path}, name, limit)
    return tuple(captured_programs(answer["made"], path)), answer["error"]
