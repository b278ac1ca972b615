"""Demangle names that may need unlimited memory or time, in a limited child process.

A mangled name refers to its own parts, and each reference may double the result: some 300 bytes can
expand to gigabytes, and the library has no limit. Names with many references therefore go to a
child process with limits on memory and processor time. It is started for the first such name, and
ends when the pipe to this process closes.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading

_CODE = """
import ctypes, resource, sys
library = ctypes.CDLL(sys.argv[1])
library.__cxa_demangle.restype = ctypes.c_void_p
resource.setrlimit(resource.RLIMIT_AS, (int(sys.argv[2]),) * 2)
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
most = int(sys.argv[3])
for line in sys.stdin.buffer:
    name, status = line.rstrip(b"\\n"), ctypes.c_int()
    usage = resource.getrusage(resource.RUSAGE_SELF)
    spent = int(usage.ru_utime + usage.ru_stime)
    resource.setrlimit(resource.RLIMIT_CPU, (spent + 1, resource.RLIM_INFINITY))
    pointer = library.__cxa_demangle(name, None, None, ctypes.byref(status))
    if pointer:
        text = ctypes.string_at(pointer, ctypes.CDLL(None).strnlen(ctypes.c_void_p(pointer), most))
        library.free(ctypes.c_void_p(pointer))
        name = text if len(text) < most and b"\\n" not in text else name
    sys.stdout.buffer.write(name + b"\\n")
    sys.stdout.buffer.flush()
"""
_MEMORY = 256 << 20
_LONGEST = 1 << 20
"""Maximum length of a spelling in bytes; a longer one helps no reader."""


_LIMITS = (str(_MEMORY), str(_LONGEST))


class Child:
    """A process that demangles names one by one.

    Args:
        library: soname or path of the C++ runtime library.
    """

    def __init__(self, library: str) -> None:
        self._library = library
        self._process: subprocess.Popen[bytes] | None = None
        self._owner = os.getpid()
        self._lock = threading.Lock()

    def demangle(self, name: bytes) -> bytes | None:
        """A name's spelling, or the name itself; None if it takes too much or there is no child."""
        if b"\n" in name:
            return None
        with self._lock:
            try:
                process = self._started()
            except OSError:
                return None
            assert process.stdin is not None
            assert process.stdout is not None
            try:
                process.stdin.write(name + b"\n")
                process.stdin.flush()
                answer = process.stdout.readline(_LONGEST + 1)
            except OSError:
                answer = b""
            if not answer.endswith(b"\n"):
                self._end()
                return None
            return answer[:-1]

    def _started(self) -> subprocess.Popen[bytes]:
        if self._owner != os.getpid():
            # This process is a fork; the child still belongs to the original process.
            self._owner, self._process = os.getpid(), None
        if self._process is None or self._process.poll() is not None:
            self._end()
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", "-c", _CODE, self._library, *_LIMITS],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
        return self._process

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is None or self._owner != os.getpid():
            return
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                stream.close()
