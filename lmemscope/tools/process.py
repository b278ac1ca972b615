"""Start programs and wait for them: the only way to run a foreground tool."""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lmemscope.environment import for_tools
from lmemscope.errors import StageTimeoutError, ToolMissingError
from lmemscope.tools.lifeline import Lifeline

_MOST_ERRORS = 1 << 16
_ENDING_SECONDS = 30.0
"""Seconds that a program may take to write its results after it is told to end."""
Meanwhile = Callable[[], object]
"""Called while a tool runs, for example to import the parser of its output."""


@dataclass(frozen=True, slots=True)
class Completed:
    """The result of a finished tool; ``output`` is stdout and stderr combined."""

    command: tuple[str, ...]
    returncode: int
    output: str

    @property
    def command_line(self) -> str:
        """The command, quoted so that it can be pasted into a shell."""
        return shlex.join(self.command)

    def without(self, directory: str) -> Completed:
        """The result without the name of a temporary directory, which differs in each run."""
        prefix = os.path.join(directory, "")
        command = tuple(word.replace(prefix, "") for word in self.command)
        return Completed(command, self.returncode, self.output.replace(prefix, ""))


def run(
    command: Sequence[str],
    *,
    cwd: Path | None = None,
    timeout: float | None = None,
    meanwhile: Meanwhile | None = None,
) -> Completed:
    """Run a tool to completion, never through a shell, never with standard input.

    Args:
        command: program and arguments.
        cwd: working directory.
        timeout: in seconds; then the tool and everything it started are killed.
        meanwhile: called while it runs.

    Raises:
        ToolMissingError: the program cannot be started.
        StageTimeoutError: it ran longer than ``timeout``.
    """
    how = {"stdin": subprocess.DEVNULL, "stderr": subprocess.STDOUT}
    with _started(command, cwd, for_tools(), **how) as process:
        if meanwhile is not None:
            meanwhile()
        try:
            output = process.communicate(timeout=timeout)[0]
        except subprocess.TimeoutExpired as error:
            name = Path(command[0]).name
            raise StageTimeoutError(name, f"{name} ran longer than {timeout:g} s") from error
    text = output.decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "\n")
    return Completed(tuple(command), process.returncode, text)


def record(command: Sequence[str], path: str, *, timeout: float) -> int:
    """Run a tool to completion, and write its output to a file, which may become large.

    Args:
        command: program and arguments.
        path: of the file.
        timeout: in seconds; then the tool and everything it started are killed.

    Returns:
        Its exit status.

    Raises:
        ToolMissingError, StageTimeoutError: as `run`.
    """
    with open(path, "wb") as stream:
        how = {"stdin": subprocess.DEVNULL, "stderr": subprocess.STDOUT, "stdout": stream}
        with _started(command, None, for_tools(), **how) as process:
            try:
                return process.wait(timeout)
            except subprocess.TimeoutExpired as error:
                name = Path(command[0]).name
                raise StageTimeoutError(name, f"{name} ran longer than {timeout:g} s") from error


@dataclass(frozen=True, slots=True)
class Captured:
    """The result of a program that reads and writes bytes; ``output`` is its stdout only."""

    returncode: int
    output: bytes
    errors: str


def capture(
    command: Sequence[str], env: Mapping[str, str], *, cwd: str, given: bytes = b"", most: int
) -> Captured:
    """Run a program with given standard input, until it ends or exceeds an output limit.

    Args:
        command: program and arguments.
        env: its environment.
        cwd: working directory.
        given: its standard input.
        most: maximum output in bytes; the program is killed if it prints more.

    Raises:
        ToolMissingError: the program cannot be started.
    """
    with tempfile.TemporaryFile() as asked, tempfile.TemporaryFile() as said:
        asked.write(given)
        asked.seek(0)
        with _started(command, cwd, env, stdin=asked, stderr=said) as process:
            assert process.stdout is not None
            output = process.stdout.read(most)
            if process.stdout.read(1):
                process.kill()
            process.wait()
        said.seek(0)
        errors = said.read(_MOST_ERRORS).decode("utf-8", "replace")
        return Captured(process.returncode, output, errors)


def attend(
    command: Sequence[str], env: Mapping[str, str], *, seconds: float | None = None
) -> int | None:
    """Run a program on this process's standard input, output and error, to completion.

    Args:
        command: program and arguments.
        env: its environment.
        seconds: after which SIGTERM asks it to end; None for no limit.

    Returns:
        Its exit status, negative for a signal; None if it reached the limit.

    Raises:
        ToolMissingError: the program cannot be started.
    """
    with _started(command, None, env, stdout=None) as process:
        try:
            return process.wait(seconds)
        except subprocess.TimeoutExpired:
            process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(_ENDING_SECONDS)
            # Also end its descendants, and a program that ignored the signal.
            with contextlib.suppress(OSError):
                os.killpg(process.pid, signal.SIGKILL)
            return None


@contextlib.contextmanager
def _started(
    command: Sequence[str], cwd: Path | str | None, env: Mapping[str, str], **how: Any
) -> Iterator[subprocess.Popen[bytes]]:
    """A program in its own process group, which ends with this process; killed on early exit."""
    own = Lifeline()
    try:
        try:
            process = subprocess.Popen(
                list(command),
                cwd=cwd,
                env=env,
                start_new_session=True,
                pass_fds=(own.end,),
                **{"stdout": subprocess.PIPE, **how},
            )
        except OSError as error:
            message = f"{command[0]} cannot be started: {error}"
            raise ToolMissingError("toolchain", message) from error
        own.tie(process.pid)
        with process.stdout or contextlib.nullcontext():
            try:
                yield process
            finally:
                if process.returncode is None:
                    with contextlib.suppress(OSError):
                        os.killpg(process.pid, signal.SIGKILL)
                    process.wait()
    finally:
        own.release()
