"""Calls into a compiler's library, each in a process of its own.

A library that compiles keeps state. Met with NVRTC 13.5: after one program with ``-G``,
``--restrict`` or ``--Ofast-compile``, later programs of the same process get other PTX, and
nothing resets that. So nothing is ever compiled in this process. It loads the library, and each
compilation runs in a copy of it that ends with the compilation: what a program becomes can depend
on no other program, and a crash takes nothing else down.

The copy is a fork, which takes about a millisecond. A process with several threads must not be
copied, because another thread may hold a lock: there a fresh interpreter is started instead.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Collection
from typing import IO, Any, Generic, TypeVar

from lmemscope.environment import cleaned, import_path
from lmemscope.errors import InternalError, WorkerCrashError
from lmemscope.tools import lifeline
from lmemscope.tools.lifeline import Lifeline

T = TypeVar("T")
_CRASH_TAIL = 2000
_SENT_BY_OTHERS = (signal.SIGKILL, signal.SIGTERM, signal.SIGHUP)
_TO_END = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_THREADS = "/proc/self/task"
_DESCRIPTORS = "/proc/self/fd"


class _KilledError(WorkerCrashError):
    """Somebody ended the process: no crash of the compiler's."""


def call(
    function: Callable[..., T], *arguments: Any, meanwhile: Callable[[], object] | None = None
) -> T:
    """What a function returns in a process of its own, which is tried again if it is killed.

    Args:
        function: importable by name.
        arguments: its arguments; they and what it returns are pickled.
        meanwhile: called here while it runs.

    Raises:
        WorkerCrashError: the process died.
        Exception: what the function raised.
    """
    try:
        running = begin(function, *arguments)
        if meanwhile is not None:
            try:
                meanwhile()
            except BaseException:
                running.end()
                raise
        return running.finish()
    except _KilledError:
        # It may be what the system ends when memory is short: that says nothing of the program.
        return begin(function, *arguments).finish()


def begin(function: Callable[..., T], *arguments: Any) -> Running[T]:
    """Start a call and do not wait for it; arguments as for `call`.

    Raises:
        WorkerCrashError: no process can be started.
    """
    own = None if lifeline.inherited else Lifeline()
    files: list[IO[bytes]] = []
    try:
        for _ in range(2):
            files.append(tempfile.TemporaryFile())  # noqa: SIM115 - closed by `Running`
        answer, errors = files
        start = _fork if is_single_threaded() else _spawn
        number = start(function, arguments, answer, errors, own)
    except OSError as error:
        for file in files:
            file.close()
        if own is not None:
            own.release()
        raise WorkerCrashError(
            "compile",
            f"no process can be started to compile in: {error.strerror}",
            hint="a limit of processes, files or memory is reached",
        ) from error
    if own is not None:
        own.tie(number)
    return Running(number, answer, errors, own)


class Running(Generic[T]):
    """A call that runs in another process, until it is waited for or ended."""

    def __init__(
        self, number: int, answer: IO[bytes], errors: IO[bytes], own: Lifeline | None
    ) -> None:
        self._number: int | None = number
        self._answer, self._errors, self._own = answer, errors, own

    def finish(self) -> T:
        """Wait for the result.

        Raises:
            WorkerCrashError: the process died.
            Exception: what the function raised.
        """
        try:
            assert self._number is not None
            _, status = os.waitpid(self._number, 0)
            self._number = None
            code = os.waitstatus_to_exitcode(status)
            if code != 0:
                raise self._crash(code)
            self._answer.seek(0)
            succeeded, value = pickle.load(self._answer)
        finally:
            self.end()
        if not succeeded:
            raise value
        result: T = value
        return result

    def end(self) -> None:
        """End it now, if it still runs; it may be called again."""
        number, self._number = self._number, None
        if number is not None:
            with contextlib.suppress(OSError):
                os.kill(number, signal.SIGKILL)
            with contextlib.suppress(ChildProcessError):
                os.waitpid(number, 0)
        self._answer.close()
        self._errors.close()
        if self._own is not None:
            self._own.release()
            self._own = None

    def _crash(self, code: int) -> WorkerCrashError:
        self._errors.seek(0)
        log = self._errors.read()[-_CRASH_TAIL:].decode("utf-8", "replace").strip() or None
        if -code in _SENT_BY_OTHERS:
            return _KilledError(
                "compile",
                f"the compiler process was killed (signal {signal.Signals(-code).name})",
                hint="a system that is short of memory does this: try -j 1",
                log=log,
            )
        how = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit status {code}"
        return WorkerCrashError(
            "compile",
            f"the compiler process died ({how})",
            hint="the other inputs were analysed; try --frontend nvcc for this one, "
            "and report the crash to the compiler's vendor",
            log=log,
        )


def is_single_threaded() -> bool:
    """Whether this process may be copied."""
    try:
        return len(os.listdir(_THREADS)) == 1
    except OSError:
        return False


def _fork(
    function: Callable[..., object],
    arguments: tuple[Any, ...],
    answer: IO[bytes],
    errors: IO[bytes],
    own: Lifeline | None,
) -> int:
    number = os.fork()
    if number:
        return number
    code = 1
    try:
        for ending in _TO_END:
            signal.signal(ending, signal.SIG_DFL)
        if own is not None:
            os.setsid()
        end = lifeline.inherited if own is None else (own.end,)
        # An end of a pipe that is held here would hide from its reader that this process's
        # parent has died.
        _keep_open({answer.fileno(), errors.fileno(), *end}, errors.fileno())
        _run(function, arguments, answer)
        code = 0
    finally:
        # Nothing of the parent's may run here: no handler, no test.
        os._exit(code)


def _keep_open(kept: Collection[int], errors: int) -> None:
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(errors, 1)
    os.dup2(errors, 2)
    for name in os.listdir(_DESCRIPTORS):
        if int(name) > 2 and int(name) not in kept:
            with contextlib.suppress(OSError):
                os.close(int(name))


def _spawn(
    function: Callable[..., object],
    arguments: tuple[Any, ...],
    answer: IO[bytes],
    errors: IO[bytes],
    own: Lifeline | None,
) -> int:
    kept = (answer.fileno(), *(lifeline.inherited if own is None else (own.end,)))
    code = (
        f"import sys; sys.path[:] = {import_path()!r}\n"
        f"from lmemscope.tools import isolated; isolated.serve({answer.fileno()})"
    )
    with tempfile.TemporaryFile() as asked:
        pickle.dump((function, arguments), asked)
        asked.seek(0)
        started = subprocess.Popen(
            [sys.executable, "-P", "-c", code],
            stdin=asked,
            stdout=errors,
            stderr=errors,
            env=cleaned(),
            pass_fds=kept,
            start_new_session=own is not None,
        )
    # It is waited for by its number.
    started.returncode = 0
    return started.pid


def serve(answer: int) -> None:
    """In a fresh interpreter: run the call that standard input holds.

    Args:
        answer: descriptor of the file to write the result to.
    """
    function, arguments = pickle.load(sys.stdin.buffer)
    with os.fdopen(answer, "wb") as stream:
        _run(function, arguments, stream)


def _run(function: Callable[..., object], arguments: tuple[Any, ...], answer: IO[bytes]) -> None:
    result: tuple[bool, object]
    try:
        result = (True, function(*arguments))
    except Exception as error:  # noqa: BLE001 - raised again by `finish`
        result = (False, error)
    try:
        content = pickle.dumps(result, protocol=pickle.HIGHEST_PROTOCOL)
    except Exception as error:  # noqa: BLE001 - what cannot be pickled
        content = pickle.dumps((False, InternalError.of(error)))
    answer.write(content)
    answer.flush()
