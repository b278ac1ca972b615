"""Starts a program and waits for it: the only way to run a tool in the foreground."""

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
"""That a program may take to write what it has, once it is told to end."""
Meanwhile = Callable[[], object]
"""What is called while a tool runs, such as importing what reads its output."""


@dataclass(frozen=True, slots=True)
class Completed:
    """What a finished tool left behind; ``output`` is stdout and stderr in one."""

    command: tuple[str, ...]
    returncode: int
    output: str

    @property
    def command_line(self) -> str:
        """The invocation, quoted so that a person can paste it into a shell."""
        return shlex.join(self.command)

    def without(self, directory: str) -> Completed:
        """The same without the name of a temporary directory, which is another one in each run."""
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
    """Run a tool to its end; never through a shell, never with standard input.

    Args:
        command: program and arguments.
        cwd: directory to run in.
        timeout: seconds; the tool and all that it started are killed after that.
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
    """Run a tool to its end, and write what it prints to a file, which may be large.

    Args:
        command: program and arguments.
        path: of the file.
        timeout: seconds; the tool and all that it started are killed after that.

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
    """What a program that reads and writes bytes left behind; ``output`` is its stdout alone."""

    returncode: int
    output: bytes
    errors: str


def capture(
    command: Sequence[str], env: Mapping[str, str], *, cwd: str, given: bytes = b"", most: int
) -> Captured:
    """Run a program on some standard input, to its end or to that of what it may print.

    Args:
        command: program and arguments.
        env: its environment.
        cwd: directory to run in.
        given: its standard input.
        most: bytes that it may print; one that prints more is killed.

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
    """Run a program that has this process's standard input, output and errors, to its end.

    Args:
        command: program and arguments.
        env: its environment.
        seconds: after which it is asked to end, by SIGTERM; None for any time.

    Returns:
        Its exit status, negative for a signal; None where its time was over.

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
            # What the program has started, and what took no notice.
            with contextlib.suppress(OSError):
                os.killpg(process.pid, signal.SIGKILL)
            return None


@contextlib.contextmanager
def _started(
    command: Sequence[str], cwd: Path | str | None, env: Mapping[str, str], **how: Any
) -> Iterator[subprocess.Popen[bytes]]:
    """A program in a group of its own, which ends with this process; killed if it is left early."""
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
