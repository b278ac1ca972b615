"""Helpers for commands that analyse: open a session, show progress, choose the exit code."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from lmemscope.commands import progress, stopping
from lmemscope.commands.say import say
from lmemscope.model import Report

if TYPE_CHECKING:
    from lmemscope.app.session import Interrupted, Session
    from lmemscope.config.settings import Settings

EXIT_CLEAN, EXIT_INCOMPLETE = 0, 3


@contextmanager
def working(
    settings: Settings, interrupted: Callable[[Interrupted], None] | None = None
) -> Iterator[Session]:
    """A session with progress display; if the user interrupts it, the program exits.

    Args:
        settings: of the command.
        interrupted: shows the results so far; without it nothing is shown, because half a report
            decides nothing.
    """
    from lmemscope.app.session import Interrupted, Session

    try:
        with progress.shown() as told, Session(settings, None, told, is_program=True) as session:
            yield session
    except Interrupted as stop:
        stopping.take_time()
        if interrupted is not None:
            interrupted(stop)
        say(f"{stopping.said(stop.number)}: {stop}", err=True)
        raise SystemExit(stopping.exit_code(stop.number)) from stop


def exit_code(*reports: Report) -> int:
    """0 whatever was found; 3 if a unit or a link failed."""
    units = (unit.failure for report in reports for unit in report.units)
    links = (link.failure for report in reports for link in report.links)
    return EXIT_INCOMPLETE if any((*units, *links)) else EXIT_CLEAN


def say_failures(*reports: Report) -> None:
    """Print a line to standard error for each unit that failed."""
    for report in reports:
        for unit in report.units:
            if unit.failure is not None:
                say(f"error: [{unit.failure.stage}] {unit.failure.message}", err=True)
