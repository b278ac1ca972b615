"""What one command works with: made once, and passed on."""

from __future__ import annotations

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
    """A run that the user ended.

    Attributes:
        report: of the units that were done.
        number: of the signal.
    """

    def __init__(self, report: Report, counted: str, number: int) -> None:
        super().__init__(counted)
        self.report, self.number = report, number


class Session:
    """Settings, and the workers that do the work. Limits of a unit travel in its options.

    Args:
        settings: what the user asked for.
        workers: where units run; without any, those that the settings ask for, which end with the
            session.
        progress: told as each unit ends.
        is_program: this process is the command line's: its workers may be forks of it, and go when
            it ends.
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

    def anew(self, settings: Settings) -> Session:
        """One with other settings, and workers of its own."""
        return Session(settings, None, self.progress, is_program=self._is_program)

    @cached_property
    def workers(self) -> Executor:
        """Where units run; opened when they are first asked for.

        Raises:
            LmemscopeError: none can be started, or nobody answers at the executor's address.
        """
        return self._given or open_workers(self.settings, forks=self._is_program)

    @property
    def at_once(self) -> int:
        """Tasks that are worth being made of one: other machines would each get all of its file."""
        return self.settings.jobs if self.settings.executor is None else 1

    def prestart(self, tasks: int) -> None:
        """Have worker processes ready for so many tasks."""
        from lmemscope.running.pool import WorkerPool

        if isinstance(self.workers, WorkerPool):
            self.workers.prestart(tasks)

    @property
    def toolchain(self) -> Toolchain:
        """Where every tool comes from."""
        from lmemscope.tools.toolchain import Toolchain

        return Toolchain(self.settings.toolkit)

    @property
    def store(self) -> str | None:
        """Where results are kept; None where units run on other machines.

        There they have their files under paths of their own: nothing to look up again.
        """
        return self.settings.cache if self.settings.executor is None else None

    @property
    def moved(self) -> Moved | None:
        """Where the files of another revision would be in the working tree."""
        return self.settings.moved if self.settings.executor is None else None

    @contextmanager
    def readers(self) -> Iterator[Executor]:
        """Workers that read files here: other machines have none before it is known what is in
        them."""
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
    """The workers that settings ask for; the caller shuts them down.

    Args:
        settings: how many, where, and how long each may take for a unit.
        forks: whether they may be forks of this process.

    Raises:
        LmemscopeError: nobody answers at the executor's address.
    """
    if settings.executor is not None:
        from lmemscope.running.dask import open_executor

        return open_executor(settings.executor, settings.timeout)
    # A saved report needs none of it.
    from lmemscope.running.pool import UNITS, WorkerPool

    return WorkerPool(settings.jobs, timeout=settings.timeout, preload=UNITS, forks=forks)
