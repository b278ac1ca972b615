"""Run calls in child processes: the workers, and each compilation with a library.

A compiler in a library may crash, and it keeps state. Observed with NVRTC 13.5: after one program
with ``-G``, ``--restrict`` or ``--Ofast-compile``, later programs in the same process get different
PTX, and nothing resets that. So each such compilation runs in its own process (`call`). If the
result depends even on memory addresses, see `lmemscope.tools.reproducible`.

Protocol: 8 bytes of length, little endian, then a pickle: ``(function, arguments)`` one way,
``(True, result)`` or ``(False, exception)`` the other. Nothing else uses these pipes: the child
redirects file descriptor 1 to standard error, because libraries print.
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
"""Environment variables that a compiler may read. Others would shift the heap."""


class KilledError(WorkerCrashError):
    """The process was killed from outside: not a crash of the compiler."""


class TimeLimit(Protocol):
    """Decides when a call has run too long."""

    def left(self) -> float:
        """Number of seconds to wait before calling `is_over`."""

    def is_over(self) -> bool:
        """Whether the call has used up its time."""


def call(
    function: Callable[..., T], *arguments: Any, meanwhile: Callable[[], object] | None = None
) -> T:
    """Run a function in a separate process and return its result; if killed, try once more.

    Args:
        function: importable by name.
        arguments: its arguments; they and the result are pickled.
        meanwhile: called in this process while it runs.

    Raises:
        WorkerCrashError: the process died.
        Exception: what the function raised.
    """
    try:
        return _called(function, arguments, meanwhile)
    except KilledError:
        # The system may have killed it for lack of memory, which says nothing about the program.
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
    """A process that runs one call after another, and ends with this process.

    Args:
        forks: fork this process, which takes about a millisecond, if it has a single thread;
            otherwise start a new interpreter.
        preload: a module that a new interpreter imports before taking calls.
        directory: for its temporary files; by default the system's.
        reproducible: start a new interpreter with the same memory addresses in every run. It runs
            the first call itself, and each later one in a fork of its state after that.

    Raises:
        WorkerCrashError: no process can be started.
    """

    def __init__(
        self,
        *,
        forks: bool = False,
        preload: str | None = None,
        directory: str | None = None,
        reproducible: bool = False,
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
                start = _spawn_reproducible if reproducible else start
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
        """Start a call.

        Raises:
            WorkerCrashError: the process has died.
        """
        try:
            _send(self._calls, (function, arguments))
        except OSError as error:
            raise self._crash() from error

    def receive(self, limit: TimeLimit | None = None) -> tuple[bool, Any]:
        """Whether the call succeeded, and its result or exception.

        Raises:
            TimeoutError: it has used up its time; the process is ended.
            KilledError: the process was killed from outside.
            WorkerCrashError: the process died in another way.
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
        """Its process ID."""
        return self._pid

    def is_alive(self) -> bool:
        """Whether it can take a call; only for the thread that owns the child."""
        if self._status is None:
            pid, status = os.waitpid(self._pid, os.WNOHANG)
            self._status = status if pid else None
        return self._status is None

    def stop(self) -> None:
        """End the process; callable from any thread, because the process ID is not yet reused."""
        if self._status is None:
            # Its process group may not exist yet.
            for kill in (os.killpg, os.kill):
                with contextlib.suppress(OSError):
                    kill(self._pid, signal.SIGKILL)

    def close(self) -> None:
        """End the process and close its pipes; only for the thread that owns it."""
        if self.is_alive():
            self.stop()
            self._status = os.waitpid(self._pid, 0)[1]
        # Data of a call that was left when the process died has no reader.
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
    del preload  # the forked process has already imported what it calls
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
        # If the child held another pipe's writing end open, its reader would not see the writer
        # die.
        for name in os.listdir(_DESCRIPTORS):
            if int(name) > 2 and int(name) != lifeline.end:
                with contextlib.suppress(OSError):
                    os.close(int(name))
        tempfile.tempdir = os.environ["TMPDIR"] = directory
        serve(None)
    finally:
        # Run none of the parent's code here, such as handlers or tests.
        os._exit(1)


def _spawn(
    calls: IO[bytes],
    answers: IO[bytes],
    errors: IO[bytes],
    lifeline: Lifeline,
    preload: str | None,
    directory: str,
) -> int:
    # The path is set inside the process: PYTHONPATH stays as the user has it, for user files that a
    # worker runs.
    code = f"from lmemscope.tools.child import serve; serve({preload!r})"
    environment = {**cleaned(), "TMPDIR": directory}
    return _started(code, (calls, answers, errors), lifeline, environment)


def _spawn_reproducible(
    calls: IO[bytes],
    answers: IO[bytes],
    errors: IO[bytes],
    lifeline: Lifeline,
    preload: str | None,
    directory: str,
) -> int:
    del preload  # The first call imports what it needs.
    given = cleaned()
    environment = {name: given[name] for name in sorted(given) if _FOR_COMPILERS.match(name)}
    environment |= {"TMPDIR": directory, "PYTHONHASHSEED": "0"}
    # Where there is a driver, NVRTC from 12.9 on answers from the driver's cache: without its log,
    # which has ptxas's report.
    environment["CUDA_CACHE_DISABLE"] = "1"
    code = "from lmemscope.tools.reproducible import serve; serve()"
    # Python caches the listing of each directory on its path, and those of user directories change
    # between runs. So only directories of installed packages are searched.
    path = [one for one in import_path() if _is_for_packages(one)]
    with fixed_addresses():
        return _started(code, (calls, answers, errors), lifeline, environment, path, os.sep)


def _is_for_packages(entry: str) -> bool:
    """Whether an entry of the import path is this package's, Python's, or holds distributions."""
    if entry.startswith((OWN, sys.prefix, sys.base_prefix)):
        return True
    try:
        return any(name.endswith((".dist-info", ".egg-info")) for name in os.listdir(entry))
    except OSError:
        return False


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
    process.returncode = 0  # it is waited for by process ID
    return process.pid


def serve(preload: str | None) -> None:
    """The child's main loop: answer calls from standard input until it closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    calls, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    if preload is not None:
        importlib.import_module(preload)
    # Objects made by a call live until its end, and repeated garbage collection costs a tenth of
    # the time. Garbage of the last call is collected between calls.
    gc.disable()
    gc.freeze()
    while answer_one(calls, answers):
        gc.collect()
        gc.freeze()


def answer_one(calls: IO[bytes], answers: IO[bytes]) -> bool:
    """Read one call, run it and send its result; False at the end of the input."""
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
        raise  # there is nobody to report to
    except Exception as error:  # noqa: BLE001 - what cannot be pickled, or only too deep down
        _send(answers, (False, InternalError.of(error)))
    return True


def _send(stream: IO[bytes], value: object) -> None:
    body = pickle.dumps(value, protocol=pickle.HIGHEST_PROTOCOL)
    stream.write(len(body).to_bytes(_LENGTH, "little") + body)
    stream.flush()
