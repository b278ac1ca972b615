"""What analysing commands do alike: run the pipeline, show progress, choose the exit code."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

import click

from lmemscope.commands import progress, stopping
from lmemscope.commands.say import complain, say
from lmemscope.errors import LmemscopeError
from lmemscope.model import count

if TYPE_CHECKING:
    from lmemscope.app.plan import Narrow
    from lmemscope.app.session import Session
    from lmemscope.config.settings import Settings
    from lmemscope.model import Artifacts, Report
    from lmemscope.running.launch import Launched
    from lmemscope.running.pool import Progress

T = TypeVar("T")

EXIT_CLEAN, EXIT_INCOMPLETE = 0, 3


def analyse(
    paths: Sequence[str],
    settings: Settings,
    interrupted: Callable[[Report], None] | None = None,
    narrow: Narrow | None = None,
) -> Report:
    """Analyse inputs, or those that ``narrow`` chooses, with worker processes.

    Args:
        paths: as the user typed them.
        settings: how to compile and what to keep.
        interrupted: shows what is done when the user ends the run; without it nothing is shown,
            for half a report decides nothing.
        narrow: chooses among the inputs; without it all are analysed.

    Raises:
        UsageError: the request is wrong whatever the inputs hold.
    """
    from lmemscope.app.execute import run

    def work(session: Session, progress: Progress | None) -> Report:
        # While the workers compile.
        threading.Thread(target=_import_renderer, daemon=True).start()
        return run(paths, session, progress=progress, narrow=narrow)

    report = in_workers(settings, work, interrupted)
    if settings.cache is not None and settings.executor is None:
        _keep(settings.cache, report)
    return report


def in_workers(
    settings: Settings,
    work: Callable[[Session, Progress | None], T],
    interrupted: Callable[[Report], None] | None = None,
) -> T:
    """Do something with worker processes, and show how far it is.

    Args:
        settings: how many workers, where they run, and for how long each of them.
        work: is given the session, and what to tell how far it is.
        interrupted: as of `analyse`.

    Raises:
        LmemscopeError: what ``work`` raises.
    """
    from lmemscope.app.execute import Interrupted
    from lmemscope.app.session import Session, open_workers

    pool = open_workers(settings, started_early())
    try:
        with progress.shown() as told:
            made = work(Session(settings, pool), told)
    except Interrupted as stop:
        pool.shutdown(wait=False, cancel_futures=True)
        stopping.take_time()
        if interrupted is not None:
            interrupted(stop.report)
        kept = "; the next run goes on from there" if settings.cache is not None else ""
        total = count(stop.total, "input")
        said = stopping.said(stop.number)
        say(f"{said}: {stop.done} of {total} done{kept}", err=True)
        raise SystemExit(stopping.exit_code(stop.number)) from stop
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        raise
    # The workers end by themselves when this process does: nobody has to wait for them.
    pool.shutdown(wait=False)
    return made


def started_early() -> Launched | None:
    """The worker that the program started while it read its arguments; the first asker gets it."""
    context = click.get_current_context(silent=True)
    waiting = context.find_root().obj if context is not None else None
    return waiting.pop() if waiting else None


def _keep(directory: str, report: Report) -> None:
    """After a run that compiled: hold the cache's size."""
    if any(unit.failure is None and not unit.cached for unit in report.units):
        from lmemscope.lowering import store

        store.trim(directory)


def lower_all(path: str, settings: Settings) -> tuple[list[Artifacts], list[LmemscopeError]]:
    """Artefacts of one input for every architecture asked for, and what went wrong.

    Raises:
        UsageError: as `analyse`.
    """
    from lmemscope.app.plan import plan_units
    from lmemscope.app.session import Session, open_workers
    from lmemscope.app.worker import lower_unit

    with open_workers(replace(settings, jobs=1, executor=None), started_early()) as workers:
        units, errors = plan_units([path], Session(settings, workers))
        done: list[Artifacts] = []
        failed: list[LmemscopeError] = [error for _, error in errors]
        for unit in units:
            try:
                done.append(workers.submit(lower_unit, unit, settings.cache).result())
            except LmemscopeError as error:
                failed.append(error)
    return done, failed


def exit_code(report: Report) -> int:
    """0, whatever was found; 3 when a unit or a link failed."""
    failures = (*(u.failure for u in report.units), *(link.failure for link in report.links))
    failed = any(failure is not None for failure in failures)
    return EXIT_INCOMPLETE if failed else EXIT_CLEAN


def complained(error: LmemscopeError) -> int:
    """Print an error of our own to stderr; the exit code that it carries."""
    complain(error)
    return error.exit_code


def _import_renderer() -> None:
    import lmemscope.exporters.terminal  # noqa: F401
