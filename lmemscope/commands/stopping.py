"""What the signals do that tell a program to end: Ctrl-C, ``kill``, a terminal that closes.

The first one unwinds the program, so that what is done can be shown and what was begun is taken
back. A second one, or one that does not get through in time, ends it where it is. Either way no
worker is left, no temporary file, and the exit code is that of the signal.
"""

from __future__ import annotations

import os
import signal
import sys
from types import FrameType
from typing import NoReturn

from lmemscope.errors import Stopped

_GRACE_SECONDS = 1.5
_SHOWING_SECONDS = 20.0
_SAID = {signal.SIGINT: "interrupted", signal.SIGTERM: "terminated", signal.SIGHUP: "hung up"}

_received: int | None = None


def install() -> None:
    """Take the signals that nobody has told the program to ignore, as ``nohup`` does."""
    for number in _SAID:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _on_signal)


def said(number: int) -> str:
    """What happened, in a word."""
    return _SAID.get(signal.Signals(number), "stopped")


def exit_code(number: int) -> int:
    """As shells have it: 130 for Ctrl-C, 143 for ``kill``, 129 for a terminal that closed."""
    return 128 + number


def take_time() -> None:
    """The signal got through and the workers are gone; showing what is done may take longer."""
    if _received is not None:
        signal.setitimer(signal.ITIMER_REAL, _SHOWING_SECONDS)


def end() -> None:
    """End workers and remove what is temporary: the last thing a run does."""
    from lmemscope import whole
    from lmemscope.running import launch, scratch

    launch.kill_all()
    whole.discard()
    scratch.remove()


def _on_signal(number: int, frame: FrameType | None) -> None:
    global _received
    if _received is not None:
        _abandon(number, frame)
    _received = number
    # Code that was interrupted here may swallow the exception: C code, an import, and a finalizer,
    # of which Python would tell.
    sys.unraisablehook = lambda _: None
    signal.signal(signal.SIGALRM, _abandon)
    signal.setitimer(signal.ITIMER_REAL, _GRACE_SECONDS)
    raise Stopped(number)


def _abandon(number: int, frame: FrameType | None) -> NoReturn:
    del frame
    first = number if _received is None else _received
    try:
        end()
        os.write(2, f"{said(first)}\n".encode())
    finally:
        os._exit(exit_code(first))
