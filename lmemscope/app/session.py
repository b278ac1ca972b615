"""What one command works with: made once, and passed on."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lmemscope.config.settings import Settings
from lmemscope.model import Moved
from lmemscope.tools.toolchain import Toolchain

if TYPE_CHECKING:
    from lmemscope.running.launch import Launched


@dataclass(frozen=True, slots=True)
class Session:
    """Settings, and the workers that do the work. Limits of a unit travel in its options.

    Attributes:
        settings: what the user asked for.
        workers: where units run; a `WorkerPool` or any other executor.
    """

    settings: Settings
    workers: Executor

    @property
    def toolchain(self) -> Toolchain:
        """Where every tool comes from."""
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


def open_workers(settings: Settings, early: Launched | None = None) -> Executor:
    """The workers that settings ask for; the caller shuts them down.

    Args:
        settings: how many, where, and how long each may take for a unit.
        early: a worker that was started before the settings were known.

    Raises:
        LmemscopeError: none can be started, or nobody answers at the executor's address.
    """
    if settings.executor is not None:
        from lmemscope.running.dask import open_executor

        return open_executor(settings.executor, settings.timeout)
    from lmemscope.running.launch import UNITS
    from lmemscope.running.pool import WorkerPool

    pool = WorkerPool(settings.jobs, timeout=settings.timeout, preload=UNITS)
    pool.prestart(early)
    return pool
