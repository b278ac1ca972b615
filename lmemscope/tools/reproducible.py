"""Run calls that all start from the same memory state, in every run and in any order.

NVVM in NVRTC 13.0 to 13.5 takes some decisions in the order of memory addresses: the same program
can get different PTX in each run, with local memory or without. nvcc's compiler is not affected: it
brings its own allocator. So NVRTC runs in forks of a process that has only loaded it, without
address or hash randomization and without history of this run.
"""

from __future__ import annotations

import contextlib
import gc
import os
import select
import signal
import threading
from collections.abc import Callable
from typing import Any, TypeVar

from lmemscope.tools.child import Child, KilledError, answer_one

T = TypeVar("T")
_NO_CALL = 3
"""Exit status of a fork that reads the end of the input instead of a call."""


class ReproducibleCalls:
    """Runs calls of one library.

    Args:
        load: importable function that loads the library; it runs once, before the calls.
        arguments: its arguments.
    """

    def __init__(self, load: Callable[..., object], *arguments: object) -> None:
        self._load, self._arguments = load, arguments
        # By process: a fork of this process must not use, or close, descriptors that it inherits.
        self._origins: dict[int, Child] = {}
        self._loaded: set[int] = set()
        self._lock = threading.Lock()

    def start(self) -> None:
        """Start loading the library, so that the first call waits less.

        Raises:
            WorkerCrashError: no process can be started.
        """
        with self._lock:
            self._started()

    def call(
        self,
        function: Callable[..., T],
        *arguments: Any,
        meanwhile: Callable[[], object] | None = None,
    ) -> T:
        """Run one call; arguments, result and errors as for `lmemscope.tools.child.call`."""
        try:
            return self._called(function, arguments, meanwhile)
        except KilledError:
            # The system may have killed it to free memory: that says nothing about the program.
            return self._called(function, arguments, None)

    def _called(
        self,
        function: Callable[..., T],
        arguments: tuple[Any, ...],
        meanwhile: Callable[[], object] | None,
    ) -> T:
        with self._lock:
            try:
                origin = self._origin()
                origin.send(_run_in, (_directory(), function, arguments))
                if meanwhile is not None:
                    meanwhile()
                succeeded, value = origin.receive()
            except BaseException:
                # It is dead, or its answer would be taken for that of the next call.
                self._close()
                raise
        if not succeeded:
            raise value
        result: T = value
        return result

    def _started(self) -> Child:
        pid = os.getpid()
        if pid not in self._origins:
            self._origins[pid] = Child(reproducible=True)
            self._origins[pid].send(self._load, self._arguments)
        return self._origins[pid]

    def _origin(self) -> Child:
        """The process with the library loaded."""
        origin = self._started()
        if os.getpid() not in self._loaded:
            succeeded, value = origin.receive()
            if not succeeded:
                raise value
            self._loaded.add(os.getpid())
        return origin

    def _close(self) -> None:
        self._loaded.discard(os.getpid())
        origin = self._origins.pop(os.getpid(), None)
        if origin is not None:
            origin.close()


def _directory() -> str:
    try:
        return os.getcwd()
    except OSError:
        return os.sep  # It has been deleted.


def _run_in(directory: str, function: Callable[..., T], arguments: tuple[Any, ...]) -> T:
    """Run a call with a working directory, which relative paths start from."""
    with contextlib.suppress(OSError):
        os.chdir(directory)
    return function(*arguments)


def serve() -> None:
    """The main loop of such a process: run the first call, and each later one in a fork."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    calls, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    gc.disable()
    answer_one(calls, answers)
    while True:
        select.select([calls], [], [])
        pid = os.fork()
        if not pid:
            status = 1
            with contextlib.suppress(BaseException):
                status = 0 if answer_one(calls, answers) else _NO_CALL
            os._exit(status)
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        if code < 0:
            # End in the same way, which the caller reports.
            signal.signal(-code, signal.SIG_DFL)
            os.kill(os.getpid(), -code)
        elif code:
            os._exit(0 if code == _NO_CALL else code)
