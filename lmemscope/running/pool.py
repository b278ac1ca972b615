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
import threading
import time
from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import IO, Any

from lmemscope.errors import StageTimeoutError, WorkerCrashError
from lmemscope.model import Unit
from lmemscope.running.launch import Launched, start, started_early
from lmemscope.running.memory import Admission, Needs, free_memory
from lmemscope.running.serve import LENGTH, send

_CRASH_TAIL = 2000
_Task = tuple[Future[Any], Callable[..., Any], tuple[Any, ...]]


class WorkerPool(Executor):
    """Runs importable functions in worker processes, at most ``max_workers`` at a time.

    Args:
        max_workers: number of processes.
        timeout: seconds that one task may take, or None.
        preload: ``module:function`` that a worker calls before its first task.
        needs: what units take; a task whose first argument is one starts when it fits.

    Raises:
        ValueError: there would be no process.
    """

    def __init__(
        self,
        max_workers: int = 1,
        *,
        timeout: float | None = None,
        preload: str | None = None,
        needs: Needs | None = None,
    ) -> None:
        if max_workers < 1:
            raise ValueError(f"a pool of {max_workers} processes would never do a task")
        self._max_workers = max_workers
        self._timeout = timeout
        self._preload = preload
        self._needs = needs
        self._admission = Admission(free_memory)
        self._tasks: queue.SimpleQueue[_Task | None] = queue.SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._spare: list[_Worker] = []
        self._running: set[_Worker] = set()
        self._lock = threading.Lock()
        self._closed = False
        self._submitted = 0

    def prestart(self) -> None:
        """Start one process now, unless the program already did."""
        while started_early:
            self._spare.append(_Worker(started_early.pop()))
        if not self._spare:
            self._spare.append(_Worker(start(self._preload)))

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
            self._admission.close()
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
        if self._needs is not None:
            self._needs.save()

    def _take_worker(self) -> _Worker:
        with self._lock:
            worker = self._spare.pop() if self._spare else _Worker(start(self._preload))
            self._running.add(worker)
            return worker

    def _serve_slot(self) -> None:
        worker: _Worker | None = None
        while (task := self._tasks.get()) is not None:
            future, _, args = task
            ticket = self._admission.enter(self._need(args))
            if ticket is None:
                future.cancel()
                continue
            try:
                if future.set_running_or_notify_cancel():
                    worker = self._do(task, self._take_worker() if worker is None else worker)
            finally:
                self._admission.leave(ticket)
        if worker is not None:
            self._retire(worker)

    def _do(self, task: _Task, worker: _Worker) -> _Worker | None:
        """Run a task; the worker comes back unless it had to go."""
        future, fn, args = task
        try:
            ok, value, peak = worker.call(fn, args, self._timeout)
        except (StageTimeoutError, WorkerCrashError) as error:
            future.set_exception(error)
            self._retire(worker)
            return None
        if self._needs is not None and args and isinstance(args[0], Unit):
            self._needs.note(args[0], value, peak)
        future.set_result(value) if ok else future.set_exception(value)
        return worker

    def _need(self, args: tuple[Any, ...]) -> int:
        """Bytes to wait for; only units take much, and one at a time never waits."""
        if self._needs is None or self._max_workers == 1:
            return 0
        return self._needs.of(args[0]) if args and isinstance(args[0], Unit) else 0

    def _retire(self, worker: _Worker) -> None:
        with self._lock:
            self._running.discard(worker)
        worker.close()


class _Worker:
    """One child process and the two pipes to it."""

    def __init__(self, launched: Launched) -> None:
        self._process, self._stderr = launched.process, launched.stderr

    def call(
        self, fn: Callable[..., Any], args: tuple[Any, ...], timeout: float | None
    ) -> tuple[bool, Any, int | None]:
        """Run one task; returns (succeeded, result or exception, bytes of memory it took).

        Raises:
            StageTimeoutError: no answer within ``timeout`` seconds; the process is killed.
            WorkerCrashError: the process died.
        """
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        deadline = None if timeout is None else time.monotonic() + timeout
        try:
            send(self._process.stdin, (fn, args))
            header = self._read(self._process.stdout, LENGTH, deadline)
            body = self._read(self._process.stdout, int.from_bytes(header, "little"), deadline)
        except TimeoutError as error:
            self.stop()
            raise StageTimeoutError(
                "compile",
                f"no result within {timeout:g} s",
                hint="raise the limit with --timeout, or reduce what is compiled",
            ) from error
        except (EOFError, OSError) as error:
            raise self._crash() from error
        answer: tuple[bool, Any, int | None] = pickle.loads(body)
        return answer

    def stop(self) -> None:
        """End the process and everything it started; any thread may call this."""
        if self._process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)

    def close(self) -> None:
        """End the process and release its pipes; only the thread that owns the worker may."""
        self.stop()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        self._stderr.close()

    def _read(self, stream: IO[bytes], size: int, deadline: float | None) -> bytes:
        descriptor = stream.fileno()
        data = bytearray()
        with selectors.DefaultSelector() as selector:
            selector.register(descriptor, selectors.EVENT_READ)
            while len(data) < size:
                left = None if deadline is None else max(0.0, deadline - time.monotonic())
                if not selector.select(left):
                    raise TimeoutError
                chunk = os.read(descriptor, min(size - len(data), 1 << 20))
                if not chunk:
                    raise EOFError
                data += chunk
        return bytes(data)

    def _crash(self) -> WorkerCrashError:
        code = self._process.wait()
        how = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit status {code}"
        self._stderr.seek(0)
        said = self._stderr.read()[-_CRASH_TAIL:].decode("utf-8", "replace").strip()
        return WorkerCrashError(
            "compile",
            f"the compiler process died ({how})",
            hint="the other inputs were analysed; try --frontend nvcc for this one, "
            "and report the crash to the compiler's vendor",
            log=said or None,
        )
