"""Starts a program and waits for it: the only way to run a tool in the foreground."""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from lmemscope.environment import for_tools
from lmemscope.errors import StageTimeoutError, ToolMissingError
from lmemscope.tools import lifeline
from lmemscope.tools.lifeline import Lifeline

_MOST_ERRORS = 1 << 16
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
    env: Mapping[str, str] | None = None,
    meanwhile: Meanwhile | None = None,
) -> Completed:
    """Run a tool to its end; never through a shell, never with standard input.

    Args:
        command: program and arguments.
        cwd: directory to run in.
        timeout: seconds; the whole process group is killed after that.
        env: its environment; without one, this process's as `for_tools` cleans it.
        meanwhile: called while it runs.

    The tool never outlives the run: without a time limit it is of its worker's group, which ends
    with the program, and else it leads one of its own that does.

    Raises:
        ToolMissingError: the program cannot be started.
        StageTimeoutError: it ran longer than ``timeout``.
    """
    own = Lifeline() if timeout is not None or not lifeline.inherited else None
    process = _popen(command, cwd, env, own)
    try:
        if own is not None:
            own.tie(process.pid)
        if meanwhile is not None:
            meanwhile()
        output = process.communicate(timeout=timeout)[0]
    except subprocess.TimeoutExpired as error:
        _kill(process, group=True)
        name = Path(command[0]).name
        raise StageTimeoutError(name, f"{name} ran longer than {timeout:g} s") from error
    except BaseException:
        # Who was told to end waits for nobody.
        _kill(process, group=own is not None)
        raise
    finally:
        if own is not None:
            own.release()
    return Completed(tuple(command), process.returncode, output)


def _popen(
    command: Sequence[str],
    cwd: Path | None,
    env: Mapping[str, str] | None,
    own: Lifeline | None,
) -> subprocess.Popen[str]:
    try:
        return subprocess.Popen(
            list(command),
            cwd=cwd,
            env=for_tools() if env is None else env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=own is not None,
            pass_fds=lifeline.inherited if own is None else (own.end,),
        )
    except OSError as error:
        if own is not None:
            own.release()
        raise ToolMissingError("toolchain", f"{command[0]} cannot be started: {error}") from error


def _kill(process: subprocess.Popen[str] | subprocess.Popen[bytes], *, group: bool) -> None:
    if process.returncode is None:
        with contextlib.suppress(OSError):
            os.killpg(process.pid, signal.SIGKILL) if group else process.kill()
        process.wait()
    if process.stdout is not None:
        process.stdout.close()


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
        own = Lifeline()
        try:
            process = subprocess.Popen(
                list(command),
                cwd=cwd,
                env=env,
                stdin=asked,
                stdout=subprocess.PIPE,
                stderr=said,
                start_new_session=True,
                pass_fds=(own.end,),
            )
        except OSError as error:
            own.release()
            raise ToolMissingError(
                "toolchain", f"{command[0]} cannot be started: {error}"
            ) from error
        try:
            own.tie(process.pid)
            assert process.stdout is not None
            with process.stdout:
                output = process.stdout.read(most)
                if process.stdout.read(1):
                    process.kill()
            returncode = process.wait()
        except BaseException:
            # Who was told to end waits for nobody.
            _kill(process, group=True)
            raise
        finally:
            own.release()
        said.seek(0)
        return Captured(returncode, output, said.read(_MOST_ERRORS).decode("utf-8", "replace"))
