"""Workers of a run that was forked are forked too, from a process that has their imports.

A worker is a Python of its own that imports the analysis: a fifth of a second for each of some
hundred runs, the same every time. Here one process, without a thread and without a tool loaded,
imports it once and forks for each worker; pipes, directory, environment, path and process group
are the worker's own, and NVRTC is loaded by it anew.

The process that asks sends one message with the worker's three files, and is told its number and,
when it has ended, its exit code.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import selectors
import signal
import socket
import struct
import sys
import tempfile
import traceback
from typing import IO, Any, NoReturn

from lmemscope import environment
from lmemscope.running import launch
from lmemscope.tools.lifeline import Lifeline

_IMPORTED = (
    "lmemscope.running.serve",
    "lmemscope.app.log_unit",
    "lmemscope.app.worker",
    "lmemscope.pipeline",
    "lmemscope.lowering.analysed",
    "lmemscope.lowering.compile_cuda",
    "lmemscope.lowering.cuda",
    "lmemscope.lowering.debug",
    "lmemscope.lowering.disassembly",
    "lmemscope.lowering.log",
    "lmemscope.lowering.lower",
    "lmemscope.formats.dwarf",
    "importlib.metadata",
    "lmemscope.tools.nvrtc",
    "lmemscope.analysis.explanation",
    "lmemscope.analysis.facts",
    "lmemscope.analysis.headers",
    "lmemscope.analysis.layers",
    "lmemscope.analysis.quotes",
    "lmemscope.rules",
    "lmemscope.rules.reported",
    "lmemscope.rules.verdict",
    "lmemscope.sources.lines",
)
_NUMBER = struct.Struct("=q")


class ForkedWorker:
    """What a pool asks of a `subprocess.Popen`."""

    def __init__(
        self, request: dict[str, Any], where: str, stderr: IO[bytes], lifeline: int
    ) -> None:
        taken, given = os.pipe(), os.pipe()
        self._link = socket.socket(socket.AF_UNIX)
        self._link.connect(where)
        files = [taken[0], given[1], stderr.fileno(), lifeline]
        body = json.dumps(request).encode()
        socket.send_fds(self._link, [_NUMBER.pack(len(body))], files)
        self._link.sendall(body)
        for end in (taken[0], given[1]):
            os.close(end)
        self.stdin, self.stdout = os.fdopen(taken[1], "wb"), os.fdopen(given[0], "rb")
        self.pid = self._number()
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """The exit code, or None while it runs."""
        with selectors.DefaultSelector() as selector:
            selector.register(self._link, selectors.EVENT_READ)
            return self.wait() if self.returncode is None and selector.select(0) else None

    def wait(self) -> int:
        """The exit code, once it has ended."""
        if self.returncode is None:
            self.returncode = self._number()
            self._link.close()
        return self.returncode

    def _number(self) -> int:
        number: int = _NUMBER.unpack(self._link.recv(_NUMBER.size, socket.MSG_WAITALL))[0]
        return number


def workers_are_forked() -> None:
    """From here on `launch.start` forks; call it before any other thread or module is there."""
    directory = tempfile.mkdtemp()
    where = os.path.join(directory, "workers")
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(where)
    listening.listen(64)
    if os.fork() == 0:
        # It goes when the process goes that all runs are forked from.
        alive = os.pidfd_open(os.getppid())
        try:
            _serve(listening, alive)
        finally:
            with contextlib.suppress(OSError):
                os.unlink(where)
                os.rmdir(directory)
            os._exit(0)
    listening.close()

    def start(preload: str | None, directory: str | None = None) -> launch.Launched:
        given = launch.worker_environment(directory)
        stderr = tempfile.TemporaryFile(dir=given["TMPDIR"])  # noqa: SIM115 - the worker's
        lifeline = Lifeline()
        request = {
            "preload": preload,
            "path": environment.import_path(),
            "directory": os.getcwd(),
            "environment": given,
        }
        process: Any = ForkedWorker(request, where, stderr, lifeline.end)
        return launch.launched(process, stderr, lifeline)

    launch.start = start


def _serve(listening: socket.socket, alive: int) -> None:
    os.dup2(os.open(os.devnull, os.O_RDWR), 0)
    os.dup2(0, 1)
    for name in _IMPORTED:
        importlib.import_module(name)
    ended: dict[int, tuple[int, socket.socket]] = {}
    with selectors.DefaultSelector() as selector:
        selector.register(listening, selectors.EVENT_READ)
        selector.register(alive, selectors.EVENT_READ)
        while True:
            for key, _ in selector.select():
                if key.fd == alive:
                    return
                if key.fd != listening.fileno():
                    child, link = ended.pop(key.fd)
                    selector.unregister(key.fd)
                    os.close(key.fd)
                    _tell(link, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
                    link.close()
                    continue
                link = listening.accept()[0]
                child = _forked(link, (listening, *(one for _, one in ended.values())))
                _tell(link, child)
                end = os.pidfd_open(child)
                ended[end] = (child, link)
                selector.register(end, selectors.EVENT_READ)


def _tell(link: socket.socket, number: int) -> None:
    # Who asked may have been killed meanwhile.
    with contextlib.suppress(OSError):
        link.sendall(_NUMBER.pack(number))


def _forked(link: socket.socket, others: tuple[socket.socket, ...]) -> int:
    head, files, _, _ = socket.recv_fds(link, _NUMBER.size, 4)
    request = json.loads(link.recv(_NUMBER.unpack(head)[0], socket.MSG_WAITALL))
    child = os.fork()
    if child == 0:
        for one in (link, *others):
            one.close()
        _become(request, files)
    for file in files:
        os.close(file)
    return child


def _become(request: dict[str, Any], files: list[int]) -> NoReturn:
    code = 1
    try:
        os.setsid()
        signal.signal(signal.SIGINT, signal.default_int_handler)
        *streams, lifeline = files
        for number, file in enumerate(streams):
            os.dup2(file, number)
            os.close(file)
        os.chdir(request["directory"])
        os.environ.clear()
        os.environ.update(request["environment"])
        sys.path[:] = request["path"]
        sys.stdin = open(0, closefd=False)  # noqa: SIM115 - as Python opens its own
        from lmemscope.running.serve import serve

        serve(request["preload"], lifeline)
        code = 0
    except BaseException:  # noqa: BLE001 - shown as the interpreter would
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)
