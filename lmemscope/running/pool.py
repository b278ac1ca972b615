"""A pool of worker processes behind the `concurrent.futures.Executor` interface.

Why not `concurrent.futures.ProcessPoolExecutor`, or pebble's pool? NVRTC runs a whole compiler in
the process, so tasks can crash or hang. If a process of the former dies, all pending futures break,
nothing says which task was at fault, and a hanging task cannot be stopped. The latter can stop a
task, but not the programs it started (nvcc and its children), and it starts processes from a
thread, which rules out forking. Here each slot owns one process and one pipe. A crash or a time
limit ends only that task, with everything it started; the slot then starts a new process, and the
others continue.
"""

from __future__ import annotations

import contextlib
import queue
import tempfile
import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Any, Protocol

from lmemscope.errors import InternalError, LmemscopeError, StageTimeoutError
from lmemscope.running.limited import Deadline, Limited, limit_of
from lmemscope.tools.child import Child, KilledError

UNITS = "lmemscope.app.worker"
"""The module to preload in workers that analyse units."""

_Task = tuple[Future[Any], Callable[..., Any], tuple[Any, ...]]


class Progress(Protocol):
    """Receives progress reports."""

    def __call__(self, done: int, total: int, name: str, failed: int = 0, /) -> None:
        """Called at the start, and as each unit completes.

        Args:
            done, total: number of units.
            name: of the input that completed, or of the first one.
            failed: number of completed units that could not be analysed.
        """


class WorkerPool(Executor):
    """Runs importable functions in at most ``max_workers`` worker processes.

    Args:
        max_workers: number of processes.
        timeout: time limit per task in seconds, or None.
        preload: module that a worker imports before its first task.
        forks: fork workers from this process where possible.

    Raises:
        ValueError: the number of processes is not positive.
    """

    def __init__(
        self,
        max_workers: int = 1,
        *,
        timeout: float | None = None,
        preload: str | None = None,
        forks: bool = False,
    ) -> None:
        if max_workers < 1:
            raise ValueError(f"a pool of {max_workers} processes would never do a task")
        self._max_workers = max_workers
        self._timeout = timeout
        self._preload, self._forks = preload, forks
        self._temporary = tempfile.TemporaryDirectory(prefix="lmemscope-tmp-")
        self._tasks: queue.SimpleQueue[_Task | None] = queue.SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._spare: list[Child] = []
        self._running: set[Child] = set()
        self._lock = threading.Lock()
        self._closed = self._ended = False
        self._submitted = 0

    def prestart(self, tasks: int = 1) -> None:
        """Start processes for this many tasks, before threads exist that would rule out forking.

        Raises:
            WorkerCrashError: no process can be started.
        """
        if not self._threads:
            while len(self._spare) < min(tasks, self._max_workers if self._forks else 1):
                self._spare.append(self._new_worker())

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Schedule ``fn(*args)``; ``fn`` must be importable by name and everything picklable."""
        if kwargs:
            raise TypeError("WorkerPool.submit takes positional arguments only")
        if self._closed:
            raise RuntimeError("the worker pool is closed")
        future: Future[Any] = Future()
        self._tasks.put((future, fn, args))
        self._submitted += 1
        if len(self._threads) < min(self._max_workers, self._submitted):
            thread = threading.Thread(target=self._serve_slot, daemon=True)
            self._threads.append(thread)
            thread.start()
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Stop the workers: after the queued tasks, or at once with ``cancel_futures``."""
        self._closed = True
        if cancel_futures:
            self._ended = True
            with contextlib.suppress(queue.Empty):
                while True:
                    task = self._tasks.get_nowait()
                    if task is not None:
                        task[0].cancel()
            with self._lock:
                for worker in self._running:
                    worker.stop()
        for _ in self._threads:
            self._tasks.put(None)
        if wait:
            for thread in self._threads:
                thread.join()
        while self._spare:
            self._spare.pop().close()
        if wait:
            self._temporary.cleanup()

    def _new_worker(self) -> Child:
        return Child(forks=self._forks, preload=self._preload, directory=self._temporary.name)

    def _take_worker(self) -> Child:
        with self._lock:
            spare = self._spare.pop() if self._spare else None
        if spare is not None and not spare.is_alive():
            spare.close()
            spare = None
        worker = spare if spare is not None else self._new_worker()
        with self._lock:
            self._running.add(worker)
            # It was started after `shutdown` stopped the others.
            if self._ended:
                worker.stop()
        return worker

    def _serve_slot(self) -> None:
        worker: Child | None = None
        while (task := self._tasks.get()) is not None:
            if task[0].set_running_or_notify_cancel():
                worker = self._do(task, worker)
        if worker is not None:
            self._retire(worker)

    def _do(self, task: _Task, worker: Child | None) -> Child | None:
        """Run a task, again if its process is killed; return the worker unless it had to be ended.

        In every case the task's future has its result afterwards: a caller is waiting for it.
        """
        future, fn, args = task
        try:
            worker, (ok, value) = self._attempt(fn, args, worker)
        except LmemscopeError as error:
            future.set_exception(error)
            return None
        except Exception as error:  # noqa: BLE001 - handed on, not swallowed
            future.set_exception(InternalError.of(error))
            return None
        future.set_result(value) if ok else future.set_exception(value)
        return worker

    def _attempt(
        self, fn: Callable[..., Any], args: tuple[Any, ...], worker: Child | None
    ) -> tuple[Child, tuple[bool, Any]]:
        """The worker that ran the task, and its answer.

        A killed process says nothing about the task: the system may have run out of memory, or a
        person killed it. The second time, it counts as the task's failure.
        """
        again = False
        while True:
            # A worker that was killed between tasks did not receive this one.
            if worker is not None and not worker.is_alive():
                self._retire(worker)
                worker = None
            if worker is None:
                worker = self._take_worker()
            try:
                return worker, self._called(worker, fn, args)
            except KilledError as error:
                self._retire(worker)
                if self._ended:
                    raise
                if again:
                    said = f"{error.message}, twice"
                    raise KilledError(error.stage, said, hint=error.hint, log=error.log) from error
                worker, again = None, True
            except BaseException:
                self._retire(worker)
                raise

    def _called(
        self, worker: Child, fn: Callable[..., Any], args: tuple[Any, ...]
    ) -> tuple[bool, Any]:
        seconds = limit_of(fn, self._timeout)
        by_processor = isinstance(fn, Limited) and self._timeout is None
        pid = worker.pid if by_processor else None
        limit = None if seconds is None else Deadline.of(seconds, pid)
        worker.send(fn, args)
        try:
            return worker.receive(limit)
        except TimeoutError as error:
            of_what = " of processor time" if limit is not None and limit.is_known else ""
            raise StageTimeoutError(
                "compile",
                f"no result within {seconds:g} s{of_what}",
                hint="raise the limit with --timeout, or reduce what is compiled",
            ) from error

    def _retire(self, worker: Child) -> None:
        with self._lock:
            self._running.discard(worker)
        worker.close()
