"""Calls that each begin from the same memory, in every run and in any order.

NVVM, as NVRTC 13.0 to 13.5 has it, takes some decisions in the order of its objects' addresses: one
program may get other PTX in each run, with local memory or without. nvcc's own compiler brings an
allocator that places them alike. So NVRTC runs in forks of a process that has done nothing but load
it, whose addresses and hashes are not random, and which has none of the run's history.
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
_OVER = 3
"""Exit status of a fork that found no call."""


class SteadyCalls:
    """Processes that calls of one library begin from; each process of ours has its own.

    Args:
        load: importable by name; what it does, with what arguments, is done before all calls.
    """

    def __init__(self, load: Callable[..., object], *arguments: object) -> None:
        self._load, self._arguments = load, arguments
        # Kept by process: what a fork inherits are numbers that may lead to something else there.
        self._origins: dict[int, Child] = {}
        self._lock = threading.Lock()

    def call(
        self,
        function: Callable[..., T],
        *arguments: Any,
        meanwhile: Callable[[], object] | None = None,
    ) -> T:
        """What a function returns; arguments and errors as of `lmemscope.tools.child.call`."""
        try:
            return self._called(function, arguments, meanwhile)
        except KilledError:
            # It may be what the system ends when memory is short: that says nothing of the program.
            return self._called(function, arguments, None)

    def _called(
        self,
        function: Callable[..., T],
        arguments: tuple[Any, ...],
        meanwhile: Callable[[], object] | None,
    ) -> T:
        with self._lock:
            origin = self._origin()
            try:
                origin.send(_done_at, (_directory(), function, arguments))
                if meanwhile is not None:
                    meanwhile()
                succeeded, value = origin.receive()
            except BaseException:
                # It is dead, or its answer would be taken for the next call's.
                del self._origins[os.getpid()]
                origin.close()
                raise
        if not succeeded:
            raise value
        result: T = value
        return result

    def _origin(self) -> Child:
        pid = os.getpid()
        if pid not in self._origins:
            made = Child(steady=True)
            try:
                made.send(self._load, self._arguments)
                succeeded, value = made.receive()
                if not succeeded:
                    raise value
            except BaseException:
                made.close()
                raise
            self._origins[pid] = made
        return self._origins[pid]


def _directory() -> str:
    try:
        return os.getcwd()
    except OSError:
        return os.sep  # It is gone.


def _done_at(directory: str, function: Callable[..., T], arguments: tuple[Any, ...]) -> T:
    """What a function returns where relative paths begin at a directory."""
    with contextlib.suppress(OSError):
        os.chdir(directory)
    return function(*arguments)


def serve() -> None:
    """The main loop of such a process: do the first call, and each other one in a fork."""
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
                status = 0 if answer_one(calls, answers) else _OVER
            os._exit(status)
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        if code < 0:
            # Who called is to see how it died.
            signal.signal(-code, signal.SIG_DFL)
            os.kill(os.getpid(), -code)
        elif code:
            os._exit(0 if code == _OVER else code)
