"""How far a run is, on standard error: a line of the terminal, elsewhere one a minute."""

from __future__ import annotations

import shutil
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from lmemscope.commands.say import say, show
from lmemscope.exporters.escape import visible
from lmemscope.exporters.escape_terminal import NEW_START

if TYPE_CHECKING:
    from lmemscope.running.pool import Progress

_MINUTE = 60.0


@contextmanager
def shown(interval: float = _MINUTE) -> Iterator[Progress]:
    """Show what is told to the function that this gives.

    Args:
        interval: seconds between the lines of a run that no terminal shows. Nothing is said of a
            run that ends before.
    """
    with _line() if sys.stderr.isatty() else _lines(interval) as told:
        yield told


@contextmanager
def _lines(interval: float) -> Iterator[Progress]:
    """A line now and then, by a thread of its own: a single input may take minutes."""
    started = time.monotonic()
    latest: list[tuple[int, int, int]] = []
    ended = threading.Event()

    def tell(done: int, total: int, name: str, failed: int = 0) -> None:
        # Not before: workers are forked by then.
        if not latest:
            threading.Thread(target=report, daemon=True).start()
        latest[:] = [(done, total, failed)]

    def report() -> None:
        while not ended.wait(interval):
            done, total, failed = latest[0]
            minutes = (time.monotonic() - started) / 60
            counted = f"{failed} failed, " if failed else ""
            say(f"{done} of {total} done, {counted}{minutes:.0f} min", err=True)

    try:
        yield tell
    finally:
        ended.set()


@contextmanager
def _line() -> Iterator[Progress]:
    """One line of the terminal, written anew: how many, how fast, how long still, and which."""
    started = time.monotonic()

    def tell(done: int, total: int, name: str, failed: int = 0) -> None:
        nonlocal started
        if done == 0:
            # What begins now, such as trials behind the analysis, has a pace of its own.
            started = time.monotonic()
        rate = done / max(time.monotonic() - started, 1e-3)
        pace = f"{rate:.1f}/s" if rate >= 1 else f"{60 * rate:.0f}/min"
        minutes, seconds = divmod(int((total - done) / rate), 60) if rate else (0, 0)
        about = f"  {pace}  {minutes}:{seconds:02} left" if done else ""
        text = visible(f"{done}/{total}{about}  {name}")
        width = shutil.get_terminal_size().columns - 1
        show(f"{NEW_START}{text[:width]}", err=True)

    try:
        yield tell
    finally:
        show(NEW_START, err=True)
