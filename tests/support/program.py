"""The program as tests run it: in this process, in a copy of a prepared one, or started anew."""

from __future__ import annotations

import contextlib
import functools
import inspect
import io
import json
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import Executor, Future
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import click
from click import formatting
from click.testing import CliRunner

from lmemscope.app import session
from lmemscope.commands import streams
from lmemscope.commands.group import cli
from lmemscope.commands.say import complain
from lmemscope.errors import LmemscopeError
from lmemscope.formats.demangle import short_name
from tests.support.forked import Parent

ROOT = Path(__file__).parents[2]
DATA = ROOT / "tests" / "support" / "data"
NO_TOOLCHAIN = ROOT / "tests" / "support" / "no_toolchain"
_SECONDS = 500
_OF_A_START = ("PYTHON", "_LMEMSCOPE_COMPLETE")
"""Variables that are read before a command is."""
_Cached = type(functools.cache(len))


@dataclass(frozen=True)
class Finished:
    """A finished run of the program."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> dict[str, Any]:
        loaded: dict[str, Any] = json.loads(self.out)
        return loaded

    def kernel(self, name: str, arch: str | None = None) -> dict[str, Any]:
        found: list[dict[str, Any]] = [
            kernel
            for unit in self.document["units"]
            for kernel in unit["kernels"]
            if name in (kernel["name"], short_name(kernel["demangled"]))
            and arch in (None, unit["arch"])
        ]
        assert len(found) == 1, [k["demangled"] for k in found]
        return found[0]


_parents: dict[str, Parent] = {}


def run_program(
    *arguments: str, cwd: Path | None = None, given: bytes = b"", **environment: str
) -> Finished:
    """Run the program in the cheapest way that cannot be told from a start of it.

    Where the toolchain is hidden nothing is compiled, and the command runs in this process. Else it
    is a copy of a process that has the imports, since NVRTC is only copied from a process without
    threads; and where a variable is set that is read before a command is, the program is started.

    Args:
        arguments, cwd: the run's.
        given: a file on its standard input.
        environment: changes of this process's.
    """
    everything = {**os.environ, **environment}
    path = everything["PYTHONPATH"]
    if any(name.startswith(_OF_A_START) for name in environment):
        assert not given
        return start_program(*arguments, cwd=cwd, **environment)
    if path.startswith(str(NO_TOOLCHAIN)):
        return invoke(*arguments, cwd=cwd, given=given, **environment)
    if path not in _parents:
        _parents[path] = Parent(everything)
    done = _parents[path].run(arguments, cwd or ROOT, everything, _SECONDS, given)
    assert "Traceback" not in done[2], done[2]
    return Finished(*done)


def start_program(*arguments: str, cwd: Path | None = None, **environment: str) -> Finished:
    """Start the program as a user does, imports and all."""
    done = subprocess.run(
        [sys.executable, "-m", "lmemscope", *arguments],
        cwd=cwd or ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=_SECONDS,
        check=False,
    )
    assert "Traceback" not in done.stderr, done.stderr
    return Finished(done.returncode, done.stdout, done.stderr)


def invoke(
    *arguments: str, cwd: Path | None = None, given: bytes = b"", **environment: str
) -> Finished:
    """Run a command in this process, its units included, through click's runner.

    What the program remembers of files and tools is forgotten before. What belongs to a process,
    such as signals, closed streams, limits of time and crashes, needs `start_program`.
    """
    for name, module in tuple(sys.modules.items()):
        if name.startswith("lmemscope."):
            for value in tuple(vars(module).values()):
                if isinstance(value, _Cached):
                    value.cache_clear()
    mixed = "mix_stderr" in inspect.signature(CliRunner).parameters
    runner = CliRunner(**({"mix_stderr": False} if mixed else {}))
    with (
        contextlib.chdir(cwd or ROOT),
        mock.patch.dict(os.environ, environment),
        mock.patch.object(session, "open_workers", Here),
    ):
        result = runner.invoke(_Program("lmemscope"), arguments, input=given)
    error = result.exception
    if error is not None and not isinstance(error, SystemExit):
        raise error
    return Finished(result.exit_code, result.stdout, result.stderr)


class _Program(click.Command):
    """The group, and around it what `lmemscope.__main__` does."""

    def main(self, args: Any = None, *_: Any, **extra: Any) -> Any:
        formatting.FORCED_WIDTH = None
        for stream in (sys.stdout, sys.stderr):
            assert isinstance(stream, io.TextIOWrapper)
            stream.reconfigure(errors=streams.ESCAPED)
        try:
            return cli.main(args, prog_name="lmemscope")
        except LmemscopeError as error:
            complain(error)
            sys.exit(error.exit_code)


class Here(Executor):
    """Does each task at once, in this process; what crosses is pickled, as it is elsewhere."""

    def __init__(self, *_: Any, **how: Any) -> None:
        self._needs = how.get("needs")

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """The result, which is there."""
        assert not kwargs
        future: Future[Any] = Future()
        try:
            task, given = pickle.loads(pickle.dumps((fn, args)))
            future.set_result(pickle.loads(pickle.dumps(task(*given))))
        except Exception as error:  # noqa: BLE001 - handed on
            future.set_exception(pickle.loads(pickle.dumps(error)))
        return future
