"""The `Session` of a command: its settings, toolchain, store and workers."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING

from lmemscope.config.settings import Settings
from lmemscope.model import Moved, Report

if TYPE_CHECKING:
    from types import TracebackType

    from lmemscope.running.pool import Progress
    from lmemscope.tools.toolchain import Toolchain


class Interrupted(Exception):  # noqa: N818 - the user's wish is no error
    """Raised when the user stops a run.

    Attributes:
        report: of the units completed so far.
        number: the signal's number.
    """

    def __init__(self, report: Report, counted: str, number: int) -> None:
        super().__init__(counted)
        self.report, self.number = report, number


class Session:
    """Settings and the workers that run units, made once per command.

    Time limits travel in a unit's options.

    Args:
        settings: what the user asked for.
        workers: where units run; if None, the session opens and closes the workers that the
            settings name.
        progress: called as each unit completes.
        is_program: whether this process belongs to the command line; its workers may then be forks,
            and exit with it.
    """

    def __init__(
        self,
        settings: Settings,
        workers: Executor | None = None,
        progress: Progress | None = None,
        *,
        is_program: bool = False,
    ) -> None:
        self.settings, self.progress = settings, progress
        self._given, self._is_program = workers, is_program

    def __enter__(self) -> Session:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: object, where: TracebackType | None
    ) -> None:
        if self._given is None and "workers" in vars(self):
            self.workers.shutdown(wait=not self._is_program, cancel_futures=kind is not None)
        if "_temporary" in vars(self):
            self._temporary.cleanup()

    def stop(self) -> None:
        """End what its own workers still do, of which nothing is wanted any more."""
        if self._given is None and "workers" in vars(self):
            self.workers.shutdown(wait=False, cancel_futures=True)

    def anew(self, settings: Settings) -> Session:
        """A new session with other settings and its own workers."""
        return Session(settings, None, self.progress, is_program=self._is_program)

    @cached_property
    def workers(self) -> Executor:
        """Where units run; opened on first use.

        Raises:
            LmemscopeError: no worker can be started, or the executor's address does not answer.
        """
        return self._given or open_workers(self.settings, forks=self._is_program)

    def new_file(self) -> str:
        """Path of an empty file that lasts as long as the session."""
        file, path = tempfile.mkstemp(dir=self._temporary.name)
        os.close(file)
        return path

    @cached_property
    def _temporary(self) -> tempfile.TemporaryDirectory[str]:
        return tempfile.TemporaryDirectory(prefix="lmemscope-", ignore_cleanup_errors=True)

    @property
    def at_once(self) -> int:
        """How many tasks to split one unit into; remote machines would each get the whole file."""
        return self.settings.jobs if self.settings.executor is None else 1

    def prestart(self, tasks: int) -> None:
        """Start worker processes for this many tasks."""
        from lmemscope.running.pool import WorkerPool

        if isinstance(self.workers, WorkerPool):
            self.workers.prestart(tasks)

    @property
    def toolchain(self) -> Toolchain:
        """Where each tool is found."""
        from lmemscope.tools.toolchain import Toolchain

        return Toolchain(self.settings.toolkit)

    @property
    def store(self) -> str | None:
        """Directory of stored results; None if units run on other machines.

        There, files have temporary paths, and a lookup by path would find nothing.
        """
        return self.settings.cache if self.settings.executor is None else None

    @property
    def moved(self) -> Moved | None:
        """The mapping from another revision's files to the working tree."""
        return self.settings.moved if self.settings.executor is None else None

    @contextmanager
    def readers(self) -> Iterator[Executor]:
        """Workers that read local files, whose contents decide what other machines are sent."""
        if self.settings.executor is None:
            yield self.workers
            return
        from lmemscope.running.pool import WorkerPool

        pool = WorkerPool(self.settings.jobs, timeout=self.settings.timeout)
        try:
            yield pool
        finally:
            pool.shutdown(cancel_futures=True)


def open_workers(settings: Settings, *, forks: bool = False) -> Executor:
    """Open the workers that the settings name; the caller shuts them down.

    Args:
        settings: number and location of the workers, and the time limit per unit.
        forks: whether they may be forks of this process.

    Raises:
        LmemscopeError: the executor's address does not answer.
    """
    if settings.executor is not None:
        from lmemscope.running.dask import open_executor

        return open_executor(settings.executor, settings.timeout)
    # Imported late: a saved report needs none of it.
    from lmemscope.running.pool import UNITS, WorkerPool

    return WorkerPool(settings.jobs, timeout=settings.timeout, preload=UNITS, forks=forks)
