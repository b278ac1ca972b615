"""Show progress on standard error: a bar on a terminal, otherwise a line per minute."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

import click

from lmemscope.commands.say import say
from lmemscope.exporters.escape import visible

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

    from lmemscope.running.pool import Progress

_NAME_WIDTH = 50
_MINUTE = 60.0


@contextmanager
def shown(interval: float = _MINUTE) -> Iterator[Progress]:
    """Show what is reported to the function that this yields.

    Args:
        interval: seconds between lines if there is no terminal. A run that ends sooner prints none.
    """
    with _bar() if sys.stderr.isatty() else _lines(interval) as told:
        yield told


@contextmanager
def _lines(interval: float) -> Iterator[Progress]:
    """Lines printed by a separate thread: a single input may take minutes."""
    started = time.monotonic()
    latest: list[tuple[int, int, int]] = []
    ended = threading.Event()

    def tell(done: int, total: int, name: str, failed: int = 0) -> None:
        # Start the thread only after the workers have been forked.
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
def _bar() -> Iterator[Progress]:
    """A bar with rate and time left, drawn after the first report: workers are forked by then."""
    with ExitStack() as stack:
        started = time.monotonic()
        bar: Bar | None = None

        def tell(done: int, total: int, name: str, failed: int = 0) -> None:
            nonlocal bar, started
            if bar is None:
                bar = stack.enter_context(_columns())
                bar.add_task("", total=None, rate="")
            if done == 0:
                # A new phase, such as trials after the analysis, has its own rate.
                started = time.monotonic()
                bar.reset(bar.task_ids[0], total=total)
            rate = done / max(time.monotonic() - started, 1e-3)
            pace = f"{rate:.1f}/s" if rate >= 1 else f"{60 * rate:.0f}/min"
            name = visible(name)
            shown = name if len(name) <= _NAME_WIDTH else "…" + name[1 - _NAME_WIDTH :]
            bar.update(
                bar.task_ids[0],
                completed=done,
                total=total,
                description=shown,
                rate=pace if done else "",
            )

        yield tell


def _columns() -> Bar:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    command = click.get_current_context(silent=True)
    is_plain = command is not None and command.params.get("color") == "never"
    return Bar(
        BarColumn(bar_width=20),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
        TextColumn("{task.description}", markup=False),
        console=Console(stderr=True, no_color=is_plain or None),
        transient=True,
        refresh_per_second=5,
    )
