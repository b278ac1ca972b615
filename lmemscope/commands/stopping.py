"""What the signals do that tell a program to end: Ctrl-C, ``kill``, a terminal that closes.

The first one unwinds the program, so that what is done can be shown and what was begun is taken
back. A second one, or one that does not get through in time, ends it where it is. Workers end with
this process, whatever ends it (`lmemscope.tools.lifeline`). The exit code is that of the signal.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
import tempfile
import time
from types import FrameType
from typing import NoReturn

from lmemscope.errors import LmemscopeError, Stopped

_GRACE_SECONDS = 1.5
_SHOWING_SECONDS = 20.0
_SAID = {signal.SIGINT: "interrupted", signal.SIGTERM: "terminated", signal.SIGHUP: "hung up"}
_TRIES = 50
_PAUSE_SECONDS = 0.02


class Ending:
    """How this process ends: the signal that told it to, and the directory that goes with it."""

    def __init__(self) -> None:
        self._received: int | None = None
        self._directory: str | None = None
        self._owner = os.getpid()

    def install(self) -> None:
        """Take the signals that nobody has told the program to ignore, as ``nohup`` does."""
        for number in _SAID:
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, self._on_signal)

    def make_directory(self) -> None:
        """Put all temporary files of this process and of what it starts into one directory.

        Raises:
            LmemscopeError: there is no place for temporary files.
        """
        before = signal.pthread_sigmask(signal.SIG_BLOCK, set(_SAID))
        try:
            made = self._directory = tempfile.mkdtemp(prefix="lmemscope-tmp-")
        except OSError as error:
            raise LmemscopeError(
                "temporary",
                f"there is no place for temporary files: {error.strerror}",
                hint="set TMPDIR to a directory that can be written and has room",
            ) from error
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        tempfile.tempdir = os.environ["TMPDIR"] = made

    def finish(self) -> None:
        """Remove what is temporary: the last thing a run does."""
        if self._directory is None or self._owner != os.getpid():
            return
        for _ in range(_TRIES):
            shutil.rmtree(self._directory, ignore_errors=True)
            if not os.path.exists(self._directory):
                return
            # A process that is being ended may still have made a file.
            time.sleep(_PAUSE_SECONDS)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if self._received is not None:
            self._abandon(number, frame)
        self._received = number
        # Code that was interrupted here may swallow the exception: C code, an import, and a
        # finalizer, of which Python would tell.
        sys.unraisablehook = lambda _: None
        signal.signal(signal.SIGALRM, self._abandon)
        signal.setitimer(signal.ITIMER_REAL, _GRACE_SECONDS)
        raise Stopped(number)

    def _abandon(self, number: int, frame: FrameType | None) -> NoReturn:
        del frame
        first = number if self._received is None else self._received
        try:
            self.finish()
            os.write(2, f"{said(first)}\n".encode())
        finally:
            os._exit(exit_code(first))


def said(number: int) -> str:
    """What happened, in a word."""
    return _SAID.get(signal.Signals(number), "stopped")


def exit_code(number: int) -> int:
    """As shells have it: 130 for Ctrl-C, 143 for ``kill``, 129 for a terminal that closed."""
    return 128 + number


def take_time() -> None:
    """The signal got through and the workers are gone; showing what is done may take longer."""
    if signal.getitimer(signal.ITIMER_REAL)[0]:
        signal.setitimer(signal.ITIMER_REAL, _SHOWING_SECONDS)
