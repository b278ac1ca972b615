"""Worker processes behind the `concurrent.futures.Executor` interface.

Why not `concurrent.futures.ProcessPoolExecutor`: when one of its processes dies, every pending
future breaks and none says which task was at fault, and a task that hangs cannot be stopped.
NVRTC runs a whole compiler inside the process, so both happen. Here each slot owns one process
and one pipe: a crash or a time limit ends that task alone, the slot starts a fresh process, and
the others go on.

A process is a bare ``python -c`` that imports only what its tasks need: it neither forks a parent
that may hold threads, nor re-imports the parent's main module. It may be started before there is
work (`WorkerPool.prestart`), so that it imports while the parent still parses its flags.

The worker's own side, and the protocol, are in `lmemscope.running.serve`.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import queue
import selectors
import signal
import tempfile
import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import IO, Any, Protocol

from lmemscope.errors import InternalError, LmemscopeError, StageTimeoutError, WorkerCrashError
from lmemscope.running.launch import Launched, start
from lmemscope.running.limited import Deadline, Limited, limit_of
from lmemscope.running.serve import LENGTH, send

_CRASH_TAIL = 2000
_SENT_BY_OTHERS = (signal.SIGKILL, signal.SIGTERM, signal.SIGHUP)
_Task = tuple[Future[Any], Callable[..., Any], tuple[Any, ...]]
_Answer = tuple[bool, Any]
"""Whether it succeeded; the result or the exception."""


class Progress(Protocol):
    """What is told how far a run is."""

    def __call__(self, done: int, total: int, name: str, failed: int = 0, /) -> None:
        """Called at first and as each unit ends.

        Args:
            done, total: units.
            name: of the input that ended, or that is first.
            failed: units of those done that could not be analysed.
        """


class WorkerKilledError(WorkerCrashError):
    """Somebody ended the process: no crash of the compiler's."""


class WorkerPool(Executor):
    """Runs importable functions in worker processes, at most ``max_workers`` at a time.

    Args:
        max_workers: number of processes.
        timeout: seconds that one task may take, or None.
        preload: module that a worker imports before its first task.

    Raises:
        ValueError: there would be no process.
    """

    def __init__(
        self,
        max_workers: int = 1,
        *,
        timeout: float | None = None,
        preload: str | None = None,
    ) -> None:
        if max_workers < 1:
            raise ValueError(f"a pool of {max_workers} processes would never do a task")
        self._max_workers = max_workers
        self._timeout = timeout
        self._preload = preload
        self._temporary = tempfile.TemporaryDirectory(prefix="lmemscope-tmp-")
        self._tasks: queue.SimpleQueue[_Task | None] = queue.SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._spare: list[_Worker] = []
        self._running: set[_Worker] = set()
        self._lock = threading.Lock()
        self._closed = self._ended = False
        self._submitted = 0

    def prestart(self, early: Launched | None = None) -> None:
        """Have one process ready now.

        Args:
            early: one that the program started before it knew what for.

        Raises:
            WorkerCrashError: none can be started.
        """
        self._spare.append(self._new_worker() if early is None else _Worker(early))

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
        """End the workers: after the queued tasks, or at once with ``cancel_futures``."""
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

    def _new_worker(self) -> _Worker:
        return _Worker(start(self._preload, self._temporary.name))

    def _take_worker(self) -> _Worker:
        with self._lock:
            spare = self._spare.pop() if self._spare else None
        if spare is not None and not spare.alive():
            spare.close()
            spare = None
        worker = spare if spare is not None else self._new_worker()
        with self._lock:
            self._running.add(worker)
            # It was not among them when `shutdown` stopped all.
            if self._ended:
                worker.stop()
        return worker

    def _serve_slot(self) -> None:
        worker: _Worker | None = None
        while (task := self._tasks.get()) is not None:
            if task[0].set_running_or_notify_cancel():
                worker = self._do(task, worker)
        if worker is not None:
            self._retire(worker)

    def _do(self, task: _Task, worker: _Worker | None) -> _Worker | None:
        """Run a task, twice if its process is killed; the worker comes back unless it had to go.

        Whatever happens, the task's future has its result then: somebody waits for it.
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
        self, fn: Callable[..., Any], args: tuple[Any, ...], worker: _Worker | None
    ) -> tuple[_Worker, _Answer]:
        """The worker that did it, and its answer.

        A process that somebody killed says nothing of the task: it may be what the system ends
        when memory is short, or a person. A second time it is the task's failure.
        """
        again = False
        while True:
            # One that was killed between two tasks did not have this one.
            if worker is not None and not worker.alive():
                self._retire(worker)
                worker = None
            if worker is None:
                worker = self._take_worker()
            try:
                by_processor = isinstance(fn, Limited) and self._timeout is None
                limit = limit_of(fn, self._timeout)
                return worker, worker.call(fn, args, limit, by_processor=by_processor)
            except WorkerKilledError as error:
                self._retire(worker)
                if self._ended:
                    raise
                if again:
                    said = f"{error.message}, twice"
                    raise WorkerKilledError(
                        error.stage, said, hint=error.hint, log=error.log
                    ) from error
                worker, again = None, True
            except BaseException:
                self._retire(worker)
                raise

    def _retire(self, worker: _Worker) -> None:
        with self._lock:
            self._running.discard(worker)
        worker.close()


class _Worker:
    """One child process and the two pipes to it."""

    def __init__(self, launched: Launched) -> None:
        self._launched = launched
        self._process, self._stderr = launched.process, launched.stderr

    def alive(self) -> bool:
        """Whether it could take a task; only the thread that owns the worker may ask."""
        return self._process.poll() is None

    def call(
        self,
        fn: Callable[..., Any],
        args: tuple[Any, ...],
        timeout: float | None,
        *,
        by_processor: bool = False,
    ) -> _Answer:
        """Run one task.

        Args:
            fn, args: what to call, and with what.
            timeout: seconds that it may take, or None.
            by_processor: whether these are of processor time, where that is known.

        Raises:
            StageTimeoutError: no answer within ``timeout`` seconds; the process is killed.
            WorkerKilledError: somebody killed the process.
            WorkerCrashError: the process died otherwise.
        """
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        deadline = (
            None
            if timeout is None
            else Deadline.of(timeout, self._process.pid if by_processor else None)
        )
        try:
            send(self._process.stdin, (fn, args))
            header = self._read(self._process.stdout, LENGTH, deadline)
            body = self._read(self._process.stdout, int.from_bytes(header, "little"), deadline)
        except TimeoutError as error:
            self.stop()
            of_what = " of processor time" if deadline is not None and deadline.is_known else ""
            raise StageTimeoutError(
                "compile",
                f"no result within {timeout:g} s{of_what}",
                hint="raise the limit with --timeout, or reduce what is compiled",
            ) from error
        except (EOFError, OSError) as error:
            raise self._crash() from error
        answer: _Answer = pickle.loads(body)
        return answer

    def stop(self) -> None:
        """End the process and everything it started; any thread may call this."""
        self._launched.kill()

    def close(self) -> None:
        """End the process and release its pipes; only the thread that owns the worker may."""
        self._launched.release()

    def _read(self, stream: IO[bytes], size: int, deadline: Deadline | None) -> bytes:
        descriptor = stream.fileno()
        data = bytearray()
        with selectors.DefaultSelector() as selector:
            selector.register(descriptor, selectors.EVENT_READ)
            while len(data) < size:
                if not selector.select(None if deadline is None else deadline.left()):
                    if deadline is not None and deadline.is_over():
                        raise TimeoutError
                    continue
                chunk = os.read(descriptor, min(size - len(data), 1 << 20))
                if not chunk:
                    raise EOFError
                data += chunk
        return bytes(data)

    def _crash(self) -> WorkerCrashError:
        self._launched.await_end()
        # What it started may still run, and is reached by its number only until that is given back.
        self.stop()
        code = self._process.wait()
        how = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit status {code}"
        self._stderr.seek(0)
        said = self._stderr.read()[-_CRASH_TAIL:].decode("utf-8", "replace").strip()
        if -code in _SENT_BY_OTHERS:
            return WorkerKilledError(
                "compile",
                f"the worker process was killed ({how})",
                hint="the other inputs were analysed; a system that is short of memory does this: "
                "try -j 1",
                log=said or None,
            )
        return WorkerCrashError(
            "compile",
            f"the compiler process died ({how})",
            hint="the other inputs were analysed; try --frontend nvcc for this one, "
            "and report the crash to the compiler's vendor",
            log=said or None,
        )
