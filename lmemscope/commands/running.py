"""What analysing commands do alike: run the pipeline, show progress, choose the exit code."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from typing import TYPE_CHECKING, TypeVar

from lmemscope.commands import progress, stopping
from lmemscope.commands.say import complain, say
from lmemscope.errors import LmemscopeError
from lmemscope.model import count
from lmemscope.running.launch import UNITS
from lmemscope.running.memory import Needs
from lmemscope.running.pool import Progress, WorkerPool

if TYPE_CHECKING:
    from lmemscope.collect import Narrow
    from lmemscope.config.settings import Settings
    from lmemscope.model import Artifacts, Report

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
    from lmemscope import collect

    def work(pool: Executor, progress: Progress | None) -> Report:
        # While the workers compile.
        threading.Thread(target=_import_renderer, daemon=True).start()
        return collect.run(paths, settings, pool, progress=progress, narrow=narrow)

    report = in_workers(settings, work, interrupted)
    if settings.cache is not None and settings.executor is None:
        _keep(settings.cache, report)
    return report


def in_workers(
    settings: Settings,
    work: Callable[[Executor, Progress | None], T],
    interrupted: Callable[[Report], None] | None = None,
) -> T:
    """Do something with worker processes, and show how far it is.

    Args:
        settings: how many workers, where they run, and for how long each of them.
        work: is given the workers, and what to tell how far it is.
        interrupted: as of `analyse`.

    Raises:
        LmemscopeError: what ``work`` raises.
    """
    pool = _executor(settings)
    from lmemscope import collect

    try:
        with progress.shown() as told:
            made = work(pool, told)
    except collect.Interrupted as stop:
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


def _executor(settings: Settings) -> Executor:
    if settings.executor is not None:
        from lmemscope.running.dask import open_executor

        return open_executor(settings.executor, settings.timeout)
    from lmemscope.running import marks

    preload = marks.preload(settings.toolkit is not None)
    needs = Needs(settings.cache)
    pool = WorkerPool(settings.jobs, timeout=settings.timeout, preload=preload, needs=needs)
    pool.prestart()
    return pool


def _keep(directory: str, report: Report) -> None:
    """After a run: hold the cache's size; tell the next one whether a compiler was needed."""
    from lmemscope.running import marks

    compiled = any(unit.failure is None and not unit.cached for unit in report.units)
    if compiled:
        from lmemscope.lowering import store

        store.trim(directory)
    marks.note(cached=not compiled)


def lower_all(path: str, settings: Settings) -> tuple[list[Artifacts], list[LmemscopeError]]:
    """Artefacts of one input for every architecture asked for, and what went wrong.

    Raises:
        UsageError: as `analyse`.
    """
    from lmemscope import collect, pipeline

    with WorkerPool(1, timeout=settings.timeout, preload=UNITS) as pool:
        pool.prestart()
        units, errors = collect.plan_units([path], settings, pool)
        done: list[Artifacts] = []
        failed: list[LmemscopeError] = [error for _, error in errors]
        for unit in units:
            try:
                done.append(pool.submit(pipeline.lower_unit, unit, settings.cache).result())
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
