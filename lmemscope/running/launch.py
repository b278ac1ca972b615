"""Starting a worker process; a module of its own, so that it can happen before all imports."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from typing import IO, NamedTuple

from lmemscope.environment import cleaned, import_path
from lmemscope.errors import WorkerCrashError
from lmemscope.tools.lifeline import Lifeline

UNITS = "lmemscope.app.worker"
"""What a worker that analyses units imports before the first arrives."""

_ENDING_SECONDS = 5.0
_POLL_SECONDS = 0.01


class Launched(NamedTuple):
    """A started worker, which leads a group of processes and lives no longer than this process.

    Attributes:
        process: the worker.
        stderr: its standard error, an unlinked file, read back when it crashes.
        lifeline: what ends its group if this process can no longer do so.
    """

    process: subprocess.Popen[bytes]
    stderr: IO[bytes]
    lifeline: Lifeline

    def kill(self) -> None:
        """End the worker and all that it started, also where the worker itself has died.

        Any thread may call this: until the worker is waited for, nobody else has its number.
        """
        if self.process.returncode is None:
            with contextlib.suppress(OSError):
                os.killpg(self.process.pid, signal.SIGKILL)

    def await_end(self) -> None:
        """Wait a little for a worker that is about to end by itself, and leave its number its."""
        deadline = time.monotonic() + _ENDING_SECONDS
        how = os.WEXITED | os.WNOWAIT | os.WNOHANG
        with contextlib.suppress(ChildProcessError):
            while time.monotonic() < deadline:
                if os.waitid(os.P_PID, self.process.pid, how) is not None:
                    return
                time.sleep(_POLL_SECONDS)

    def release(self) -> None:
        """End the worker, and close what leads to it."""
        self.kill()
        self.process.wait()
        self.lifeline.release()
        for pipe in (self.process.stdin, self.process.stdout, self.stderr):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()


def start(preload: str | None, directory: str | None = None) -> Launched:
    """Start a worker that imports a module before it takes tasks.

    Args:
        preload: the module.
        directory: for its temporary files; without one, the system's.

    Raises:
        WorkerCrashError: no process can be started.
    """
    environment = worker_environment(directory)
    lifeline = Lifeline()
    # The path is set from inside: PYTHONPATH stays as the user has it, for a user's file that a
    # worker may have to run.
    code = (
        f"import sys; sys.path[:] = {import_path()!r}\n"
        f"from lmemscope.running.serve import serve; serve({preload!r}, {lifeline.end})"
    )
    try:
        stderr = tempfile.TemporaryFile(dir=environment["TMPDIR"])  # noqa: SIM115 - the worker's
        process = subprocess.Popen(
            [sys.executable, "-P", "-c", code],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stderr,
            env=environment,
            pass_fds=(lifeline.end,),
            start_new_session=True,
        )
    except OSError as error:
        lifeline.release()
        raise WorkerCrashError(
            "worker",
            f"no worker process can be started: {error.strerror}",
            hint="a limit of processes, files or memory is reached, or there is no room for "
            f"temporary files in {tempfile.gettempdir()}",
        ) from error
    return launched(process, stderr, lifeline)


def launched(process: subprocess.Popen[bytes], stderr: IO[bytes], lifeline: Lifeline) -> Launched:
    """Take charge of a worker that leads a group of its own."""
    lifeline.tie(process.pid)
    return Launched(process, stderr, lifeline)


def worker_environment(directory: str | None) -> dict[str, str]:
    """This process's, with temporary files in a directory."""
    return {**cleaned(), "TMPDIR": directory or tempfile.gettempdir()}
