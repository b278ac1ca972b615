"""What analysing commands do alike: run the pipeline, show progress, choose the exit code."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager
from typing import TYPE_CHECKING, NoReturn

import click

from lmemscope.errors import LmemscopeError, UsageError
from lmemscope.running.launch import UNITS
from lmemscope.running.memory import Needs
from lmemscope.running.pool import WorkerPool

if TYPE_CHECKING:
    from lmemscope.collect import Progress
    from lmemscope.config.settings import Settings
    from lmemscope.model import Artifacts, Report

EXIT_CLEAN, EXIT_INCOMPLETE = 0, 3


def analyse(paths: Sequence[str], settings: Settings) -> Report:
    """Analyse inputs with worker processes.

    Raises:
        UsageError: the request is wrong whatever the inputs hold.
    """
    pool = _executor(settings)
    from lmemscope import collect

    # While the workers compile: the renderer of tables is the slowest import there is.
    threading.Thread(target=_import_renderer, args=[sys.stdout.isatty()], daemon=True).start()

    try:
        with _progress() as progress:
            report = collect.run(paths, settings, pool, progress=progress)
    except UsageError:
        pool.shutdown(cancel_futures=True)
        raise
    except KeyboardInterrupt:
        pool.shutdown(wait=False, cancel_futures=True)
        raise
    if settings.cache is not None and settings.executor is None:
        _keep(settings.cache, report)
    # The workers end by themselves when this process does: nobody has to wait for them.
    pool.shutdown(wait=False)
    return report


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
    """0, whatever was found; 3 when a unit failed."""
    failed = any(unit.failure is not None for unit in report.units)
    return EXIT_INCOMPLETE if failed else EXIT_CLEAN


def fail(error: LmemscopeError) -> NoReturn:
    """Print an error of our own to stderr and leave with the exit code it carries."""
    click.echo(f"error: [{error.stage}] {error.message}", err=True)
    if error.log:
        click.echo("\n".join(f"  {line}" for line in error.log.splitlines()), err=True)
    if error.hint:
        click.echo(f"hint: {error.hint}", err=True)
    raise SystemExit(error.exit_code)


def _import_renderer(on_terminal: bool) -> None:
    import lmemscope.exporters.terminal  # noqa: F401

    if on_terminal:
        import rich.console
        import rich.table  # noqa: F401


@contextmanager
def _progress() -> Iterator[Progress | None]:
    """A counter on stderr, only where a person watches and there is something to wait for."""
    if not sys.stderr.isatty():
        yield None
        return
    width = 60

    def show(done: int, total: int, name: str) -> None:
        shown = name if len(name) <= width else "…" + name[-width + 1 :]
        click.echo(f"\r\x1b[2K[{done}/{total}] {shown}", nl=False, err=True)

    try:
        yield show
    finally:
        click.echo("\r\x1b[2K", nl=False, err=True)
