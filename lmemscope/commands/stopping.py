"""Handle signals that end the program: Ctrl-C, ``kill``, a closing terminal.

The first signal unwinds the program, so that it can show results and remove what it started. A
second one, or one that is not handled in time, ends it immediately. Workers end with this process
however it ends (`lmemscope.tools.lifeline`). The exit code is the signal's.
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
    """How this process ends: the signal received, and the temporary directory to remove."""

    def __init__(self) -> None:
        self._received: int | None = None
        self._directory: str | None = None
        self._owner = os.getpid()

    def install(self) -> None:
        """Handle the signals, except those the program was told to ignore (as by ``nohup``)."""
        for number in _SAID:
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, self._on_signal)

    def make_directory(self) -> None:
        """Put all temporary files of this process and its children into one directory.

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
        """Remove temporary files: the last action of a run."""
        if self._directory is None or self._owner != os.getpid():
            return
        for _ in range(_TRIES):
            shutil.rmtree(self._directory, ignore_errors=True)
            if not os.path.exists(self._directory):
                return
            # A process that is ending may still create a file.
            time.sleep(_PAUSE_SECONDS)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if self._received is not None:
            self._abandon(number, frame)
        self._received = number
        # C code, an import or a finalizer that was interrupted may swallow the exception; Python
        # would report that.
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
    """A word for what happened."""
    return _SAID.get(signal.Signals(number), "stopped")


def exit_code(number: int) -> int:
    """The exit code used by shells: 130 for Ctrl-C, 143 for ``kill``, 129 for a closed terminal."""
    return 128 + number


def take_time() -> None:
    """Allow more time: the signal was handled, workers are gone, and results are being shown."""
    if signal.getitimer(signal.ITIMER_REAL)[0]:
        signal.setitimer(signal.ITIMER_REAL, _SHOWING_SECONDS)
