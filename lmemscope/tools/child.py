"""Processes of this program's own that do calls: its workers, and each compilation in a library.

A library that compiles may crash, and it keeps state. Met with NVRTC 13.5: after one program with
``-G``, ``--restrict`` or ``--Ofast-compile``, later programs of the same process get other PTX, and
nothing resets that. So each such compilation has a process of its own (`call`). Where even the
addresses of its memory count, all begin from one that is the same in every run (`steady`).

Protocol: 8 bytes of length, little endian, then a pickle; ``(function, arguments)`` one way,
``(True, result)`` or ``(False, exception)`` the other. Nothing else uses these pipes: the child
points file descriptor 1 at its standard error, because libraries print.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import pickle
import re
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import IO, Any, Protocol, TypeVar

from lmemscope.environment import OWN, cleaned, import_path
from lmemscope.errors import InternalError, WorkerCrashError
from lmemscope.tools.addresses import fixed_addresses
from lmemscope.tools.lifeline import Lifeline

T = TypeVar("T")
_LENGTH = 8
_CRASH_TAIL = 2000
_ENDING_SECONDS = 5.0
_POLL_SECONDS = 0.01
_SENT_BY_OTHERS = (signal.SIGKILL, signal.SIGTERM, signal.SIGHUP)
_THREADS = "/proc/self/task"
_DESCRIPTORS = "/proc/self/fd"
_FOR_COMPILERS = re.compile(r"PATH|HOME|LD_LIBRARY_PATH|LANG|LC_\w+|CUDA\w*|CUPY\w*|NVRTC\w*")
"""Variables that a compiler's library may read; the others would move what lies behind them."""


class KilledError(WorkerCrashError):
    """Somebody ended the process: no crash of the compiler's."""


class TimeLimit(Protocol):
    """When a call is given up on."""

    def left(self) -> float:
        """Seconds to wait before `is_over` is asked."""

    def is_over(self) -> bool:
        """Whether the call has had its time."""


def call(
    function: Callable[..., T], *arguments: Any, meanwhile: Callable[[], object] | None = None
) -> T:
    """What a function returns in a process of its own; one that is killed is tried again.

    Args:
        function: importable by name.
        arguments: its arguments; they and what it returns are pickled.
        meanwhile: called here while it runs.

    Raises:
        WorkerCrashError: the process died.
        Exception: what the function raised.
    """
    try:
        return _called(function, arguments, meanwhile)
    except KilledError:
        # It may be what the system ends when memory is short: that says nothing of the program.
        return _called(function, arguments, None)


def _called(
    function: Callable[..., T], arguments: tuple[Any, ...], meanwhile: Callable[[], object] | None
) -> T:
    child = Child(forks=True)
    try:
        child.send(function, arguments)
        if meanwhile is not None:
            meanwhile()
        succeeded, value = child.receive()
    finally:
        child.close()
    if not succeeded:
        raise value
    result: T = value
    return result


def is_single_threaded() -> bool:
    """Whether this process may be forked: another thread might hold a lock."""
    try:
        return len(os.listdir(_THREADS)) == 1
    except OSError:
        return False


class Child:
    """A process that does one call after the other, and lives no longer than this one.

    Args:
        forks: make it a fork of this process, which takes about a millisecond, if this one has a
            single thread; else it is a fresh interpreter.
        preload: a module that a fresh interpreter imports before it takes calls.
        directory: for its temporary files; without one, the system's.
        steady: make it a fresh interpreter that does its first call itself, and each later one in a
            fork of what it was then: see `lmemscope.tools.steady`.

    Raises:
        WorkerCrashError: no process can be started.
    """

    def __init__(
        self,
        *,
        forks: bool = False,
        preload: str | None = None,
        directory: str | None = None,
        steady: bool = False,
    ) -> None:
        directory = directory or tempfile.gettempdir()
        self._status: int | None = None
        self._lifeline = Lifeline()
        with contextlib.ExitStack() as opened:
            opened.callback(self._lifeline.release)
            try:
                self._errors = opened.enter_context(tempfile.TemporaryFile(dir=directory))
                ends = [
                    os.fdopen(end, how)
                    for end, how in zip(
                        (*os.pipe(), *os.pipe()), ("rb", "wb", "rb", "wb"), strict=True
                    )
                ]
                for end in ends:
                    opened.enter_context(end)
                calls, self._calls, self._answers, answers = ends
                start = _fork if forks and is_single_threaded() else _spawn
                start = _spawn_steady if steady else start
                self._pid = start(calls, answers, self._errors, self._lifeline, preload, directory)
            except OSError as error:
                raise WorkerCrashError(
                    "worker",
                    f"no worker process can be started: {error.strerror}",
                    hint="a limit of processes, files or memory is reached, or there is no room "
                    f"for temporary files in {tempfile.gettempdir()}",
                ) from error
            calls.close()
            answers.close()
            self._opened = opened.pop_all()

    def send(self, function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
        """Begin a call.

        Raises:
            WorkerCrashError: the process has died.
        """
        try:
            _send(self._calls, (function, arguments))
        except OSError as error:
            raise self._crash() from error

    def receive(self, limit: TimeLimit | None = None) -> tuple[bool, Any]:
        """Whether the call succeeded; its result or the exception.

        Raises:
            TimeoutError: it has had its time; the process is ended.
            KilledError: somebody killed the process.
            WorkerCrashError: the process died otherwise.
        """
        try:
            body = self._read(int.from_bytes(self._read(_LENGTH, limit), "little"), limit)
        except TimeoutError:
            self.stop()
            raise
        except (EOFError, OSError) as error:
            raise self._crash() from error
        answer: tuple[bool, Any] = pickle.loads(body)
        return answer

    @property
    def pid(self) -> int:
        """Its number."""
        return self._pid

    def is_alive(self) -> bool:
        """Whether it could take a call; only the thread that owns the child may ask."""
        if self._status is None:
            pid, status = os.waitpid(self._pid, os.WNOHANG)
            self._status = status if pid else None
        return self._status is None

    def stop(self) -> None:
        """End the process; any thread may call this, for nobody else has its number yet."""
        if self._status is None:
            # Its group is not there at once.
            for kill in (os.killpg, os.kill):
                with contextlib.suppress(OSError):
                    kill(self._pid, signal.SIGKILL)

    def close(self) -> None:
        """End the process and close what leads to it; only the thread that owns it may."""
        if self.is_alive():
            self.stop()
            self._status = os.waitpid(self._pid, 0)[1]
        # What was left of a call when the process died has no reader any more.
        with contextlib.suppress(BrokenPipeError):
            self._opened.close()

    def _read(self, size: int, limit: TimeLimit | None) -> bytes:
        descriptor = self._answers.fileno()
        data = bytearray()
        with selectors.DefaultSelector() as selector:
            selector.register(descriptor, selectors.EVENT_READ)
            while len(data) < size:
                if not selector.select(None if limit is None else limit.left()):
                    if limit is not None and limit.is_over():
                        raise TimeoutError
                    continue
                chunk = os.read(descriptor, min(size - len(data), 1 << 20))
                if not chunk:
                    raise EOFError
                data += chunk
        return bytes(data)

    def _crash(self) -> WorkerCrashError:
        deadline = time.monotonic() + _ENDING_SECONDS
        while self.is_alive() and time.monotonic() < deadline:
            time.sleep(_POLL_SECONDS)
        if self._status is None:
            self.stop()
            self._status = os.waitpid(self._pid, 0)[1]
        code = os.waitstatus_to_exitcode(self._status)
        how = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit status {code}"
        self._errors.seek(0)
        said = self._errors.read()[-_CRASH_TAIL:].decode("utf-8", "replace").strip()
        if -code in _SENT_BY_OTHERS:
            return KilledError(
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


def _fork(
    calls: IO[bytes],
    answers: IO[bytes],
    errors: IO[bytes],
    lifeline: Lifeline,
    preload: str | None,
    directory: str,
) -> int:
    del preload  # This process has imported what it calls.
    pid = os.fork()
    if pid:
        return pid
    try:
        for ending in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(ending, signal.SIG_DFL)
        os.setsid()
        lifeline.tie(os.getpid())
        for end, number in ((calls, 0), (answers, 1), (errors, 2)):
            os.dup2(end.fileno(), number)
        # An end of a pipe that is held here would hide from its reader that its writer has died.
        for name in os.listdir(_DESCRIPTORS):
            if int(name) > 2 and int(name) != lifeline.end:
                with contextlib.suppress(OSError):
                    os.close(int(name))
        tempfile.tempdir = os.environ["TMPDIR"] = directory
        serve(None)
    finally:
        # Nothing of the parent's may run here: no handler, no test.
        os._exit(1)


def _spawn(
    calls: IO[bytes],
    answers: IO[bytes],
    errors: IO[bytes],
    lifeline: Lifeline,
    preload: str | None,
    directory: str,
) -> int:
    # The path is set from inside: PYTHONPATH stays as the user has it, for a user's file that a
    # worker may have to run.
    code = f"from lmemscope.tools.child import serve; serve({preload!r})"
    environment = {**cleaned(), "TMPDIR": directory}
    return _started(code, (calls, answers, errors), lifeline, environment)


def _spawn_steady(
    calls: IO[bytes],
    answers: IO[bytes],
    errors: IO[bytes],
    lifeline: Lifeline,
    preload: str | None,
    directory: str,
) -> int:
    del preload  # Its first call says what it imports.
    given = cleaned()
    environment = {name: given[name] for name in sorted(given) if _FOR_COMPILERS.match(name)}
    environment |= {"TMPDIR": directory, "PYTHONHASHSEED": "0"}
    code = "from lmemscope.tools.steady import serve; serve()"
    # Python keeps the names of what is in a directory that it looks into, and in the user's own
    # these change. So it looks only where packages are installed.
    named = set(os.environ.get("PYTHONPATH", "").split(os.pathsep))
    path = [one for one in import_path() if _is_for_packages(one) or one in named]
    with fixed_addresses():
        return _started(code, (calls, answers, errors), lifeline, environment, path, os.sep)


def _is_for_packages(entry: str) -> bool:
    """Whether a directory of the import path is this package's, Python's or holds packages."""
    installed = os.path.basename(entry) in ("site-packages", "dist-packages")
    return installed or entry.startswith((OWN, sys.prefix, sys.base_prefix))


def _started(
    code: str,
    streams: tuple[IO[bytes], IO[bytes], IO[bytes]],
    lifeline: Lifeline,
    environment: dict[str, str],
    path: list[str] | None = None,
    directory: str | None = None,
) -> int:
    calls, answers, errors = streams
    path = import_path() if path is None else path
    process = subprocess.Popen(
        [sys.executable, "-P", "-c", f"import sys; sys.path[:] = {path!r}\n{code}"],
        stdin=calls,
        stdout=answers,
        stderr=errors,
        env=environment,
        cwd=directory,
        pass_fds=(lifeline.end,),
        start_new_session=True,
    )
    lifeline.tie(process.pid)
    process.returncode = 0  # It is waited for by its number.
    return process.pid


def serve(preload: str | None) -> None:
    """The child's main loop: answer calls from standard input until it closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    calls, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    if preload is not None:
        importlib.import_module(preload)
    # What a call makes lives to its end, and looking through it for garbage again and again costs a
    # tenth of the time. It is looked for between calls, in what the last one left.
    gc.disable()
    gc.freeze()
    while answer_one(calls, answers):
        gc.collect()
        gc.freeze()


def answer_one(calls: IO[bytes], answers: IO[bytes]) -> bool:
    """Do one call; False where there is none any more."""
    header = calls.read(_LENGTH)
    if not header:
        return False
    function, arguments = pickle.loads(calls.read(int.from_bytes(header, "little")))
    try:
        answer = (True, function(*arguments))
    except Exception as error:  # noqa: BLE001 - sent home, where it is raised again
        answer = (False, error)
    except BaseException as error:  # noqa: BLE001 - there it would end the whole run
        answer = (False, InternalError.of(error))
    try:
        _send(answers, answer)
    except (OSError, EOFError):
        raise  # nobody is there to tell
    except Exception as error:  # noqa: BLE001 - what cannot be pickled, or only too deep down
        _send(answers, (False, InternalError.of(error)))
    return True


def _send(stream: IO[bytes], value: object) -> None:
    body = pickle.dumps(value, protocol=pickle.HIGHEST_PROTOCOL)
    stream.write(len(body).to_bytes(_LENGTH, "little") + body)
    stream.flush()
