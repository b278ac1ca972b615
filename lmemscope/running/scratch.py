"""One directory for all temporary files of a run: its own, its workers' and their compilers'.

It goes when the run ends. A run that is killed cannot remove it, so the next one does: the owner
holds a lock on its directory, which the kernel takes from a process that ends, however it ends.
"""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import os
import shutil
import signal
import tempfile
import time
from collections.abc import Iterator
from typing import NamedTuple

from lmemscope.errors import LmemscopeError

_PREFIX = "lmemscope-run-"
_TRIES = 50
_PAUSE_SECONDS = 0.02


class _Own(NamedTuple):
    """This process's directory; ``base`` is where the system wanted temporary files."""

    process: int
    path: str
    lock: int
    base: str


_own: _Own | None = None


def directory() -> str:
    """The run's directory, made when it is first asked for.

    Raises:
        LmemscopeError: there is no place for temporary files.
    """
    global _own
    # A process that was forked from a run is another run, beside the first and not below it.
    if _own is None or _own.process != os.getpid():
        try:
            with _signals_held():
                _own = _made(tempfile.gettempdir() if _own is None else _own.base)
        except OSError as error:
            raise LmemscopeError(
                "temporary",
                f"there is no place for temporary files: {error.strerror}",
                hint="set TMPDIR to a directory that can be written and has room",
            ) from error
        atexit.register(remove)
    return _own.path


def use() -> None:
    """Put all temporary files of this process there, and those of what it starts."""
    tempfile.tempdir = os.environ["TMPDIR"] = directory()


def remove() -> None:
    """Remove the directory; whoever wrote there has been ended."""
    global _own
    own = _own
    if own is None or own.process != os.getpid():
        return
    _own = None
    if tempfile.tempdir == own.path:
        tempfile.tempdir = None
    for _ in range(_TRIES):
        shutil.rmtree(own.path, ignore_errors=True)
        if not os.path.exists(own.path):
            break
        # A process that is being ended may still have made a file.
        time.sleep(_PAUSE_SECONDS)
    with contextlib.suppress(OSError):
        os.close(own.lock)


@contextlib.contextmanager
def _signals_held() -> Iterator[None]:
    """What ends the program waits: a directory that was made is known, and so removed."""
    before = signal.pthread_sigmask(
        signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}
    )
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _made(base: str) -> _Own:
    _remove_abandoned(base)
    while True:
        path = tempfile.mkdtemp(prefix=_PREFIX, dir=base)
        # Until it is locked, another run that starts may take it for abandoned, and remove it.
        try:
            lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except FileNotFoundError:
            continue
        try:
            with contextlib.suppress(OSError):  # some network file systems have no locks
                fcntl.flock(lock, fcntl.LOCK_SH)
            if os.path.exists(path):
                return _Own(os.getpid(), path, lock, base)
        except BaseException:
            os.close(lock)
            raise
        os.close(lock)


def _remove_abandoned(base: str) -> None:
    """Remove the directories of this user's runs that have ended without."""
    with contextlib.suppress(OSError), os.scandir(base) as entries:
        for entry in entries:
            if entry.name.startswith(_PREFIX):
                _remove_if_abandoned(entry.path)


def _remove_if_abandoned(path: str) -> None:
    with contextlib.suppress(OSError):
        lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            if os.fstat(lock).st_uid == os.geteuid():
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(path, ignore_errors=True)
        finally:
            os.close(lock)
