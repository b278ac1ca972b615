"""Opening files that belong to somebody else: regular ones only, of a bounded size.

A name in a tree that is scanned may be that of a pipe that nobody writes to, of a terminal, or a
link to ``/dev/zero``: to open or to read such a thing never ends. All that lmemscope reads of a
tree is opened here.
"""

from __future__ import annotations

import errno
import functools
import hashlib
import io
import os
import stat
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import IO, Any, Generic, TypeVar, TypeVarTuple

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

DEFAULT_LIMIT = 512
"""MiB; several times the largest PTX and cubins of the libraries that ship device code."""

_CHUNK = 1 << 20
_TEXT_LIMIT = 64 << 20
"""Bytes of a file that lies beside an input, such as a header or a configuration."""


class UnreadableFileError(OSError):
    """What a name stands for is not read: it is no regular file, or too large."""


def open_regular(path: str | os.PathLike[str]) -> IO[bytes]:
    """A regular file, open for reading bytes.

    Raises:
        UnreadableFileError: it is something else, such as a pipe, a device or a directory.
        OSError: it cannot be opened.
    """
    # Without blocking: opening a pipe waits for somebody who writes.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        mode = os.fstat(descriptor).st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, "Is a directory", os.fspath(path))
        if not stat.S_ISREG(mode):
            raise UnreadableFileError(errno.EINVAL, f"it is {kind(mode)}", os.fspath(path))
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def refuse_odd(path: str | os.PathLike[str]) -> None:
    """Refuse a name that stands for something else than a file or a directory.

    Raises:
        UnreadableFileError: it is a pipe, a socket or a device.
    """
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError):
        return
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise UnreadableFileError(errno.EINVAL, f"it is {kind(mode)}", os.fspath(path))


def read_input(path: str | os.PathLike[str], mebibytes: int | None = None) -> bytes:
    """Bytes of an input that was asked for.

    Args:
        path: of the file.
        mebibytes: that it may have, or None for the default.

    Raises:
        UnreadableFileError: it is no regular file, or larger.
        OSError: it cannot be opened or read.
    """
    return _read(path, (mebibytes or DEFAULT_LIMIT) << 20)


def read_beside(path: str | os.PathLike[str]) -> bytes:
    """Bytes of a text that an input or a project refers to.

    Raises:
        UnreadableFileError: it is no regular file, or larger than 64 MiB.
        OSError: it cannot be opened or read.
    """
    return _read(path, _TEXT_LIMIT)


def text_beside(path: str | os.PathLike[str]) -> bytes | None:
    """The same, or None where it cannot be read."""
    try:
        return read_beside(path)
    except OSError:
        return None


def digest_of(path: str | os.PathLike[str]) -> str | None:
    """SHA-256 of an input's bytes, or None where it cannot be read; few of them are in memory."""
    try:
        with open_regular(path) as stream:
            # Files of /proc have no size before they are read, and some have no end.
            left = os.fstat(stream.fileno()).st_size or DEFAULT_LIMIT << 20
            digest = hashlib.sha256()
            while left > 0 and (chunk := stream.read(min(_CHUNK, left))):
                digest.update(chunk)
                left -= len(chunk)
            return digest.hexdigest()
    except OSError:
        return None


def cached_while_unchanged(
    most: int, reads: Callable[[Any], Iterable[str]] | None = None
) -> Callable[[Callable[[str, *Ts], T]], Callable[[str, *Ts], T]]:
    """Make a function remember what it found in a file until the file changes.

    It raises OSError where there is no such file, and what the function raises.

    Args:
        most: files that are remembered.
        reads: of an answer, paths of other files that it was read from; also of files that were
            looked for in vain, and count as changed once they are there.
    """

    def cached(function: Callable[[str, *Ts], T]) -> Callable[[str, *Ts], T]:
        @functools.lru_cache(maxsize=most)
        def known(path: str, _state: object, *more: *Ts) -> _Remembered[T]:
            value = function(path, *more)
            files = tuple(reads(value)) if reads is not None else ()
            return _Remembered(value, files, [_state_of(file) for file in files])

        @functools.wraps(function)
        def asked(path: str, *more: *Ts) -> T:
            state = _state(os.stat(path))
            held = known(path, state, *more)
            if held.states != [_state_of(file) for file in held.files]:
                fresh = known.__wrapped__(path, state, *more)
                held.value, held.files, held.states = fresh.value, fresh.files, fresh.states
            return held.value

        return asked

    return cached


@dataclass(slots=True)
class _Remembered(Generic[T]):
    """An answer, the other files that it was read from, and what they were like."""

    value: T
    files: tuple[str, ...]
    states: list[tuple[int, ...] | None]


def _state(found: os.stat_result) -> tuple[int, ...]:
    return found.st_size, found.st_mtime_ns, found.st_ino


def _state_of(path: str) -> tuple[int, ...] | None:
    try:
        return _state(os.stat(path))
    except (OSError, ValueError):
        # No file can have a name with a NUL.
        return None


def decoded_text(data: bytes, encoding: str = "utf-8") -> str:
    """Text as `open` gives it: every kind of line end is one newline.

    Raises:
        UnicodeDecodeError: it is none.
    """
    return io.IncrementalNewlineDecoder(None, translate=True).decode(data.decode(encoding), True)


def _read(path: str | os.PathLike[str], limit: int) -> bytes:
    with open_regular(path) as stream:
        size = os.fstat(stream.fileno()).st_size
        # Files of /proc have no size before they are read.
        data = stream.read(limit + 1) if size <= limit else b""
        if data is None:
            # Some files of /proc are regular by name, and have nothing to give.
            raise UnreadableFileError(errno.EAGAIN, "it has nothing to read", os.fspath(path))
        if size > limit or len(data) > limit:
            reason = f"it is larger than {limit >> 20} MiB"
            raise UnreadableFileError(errno.EFBIG, reason, os.fspath(path))
        return data


_KINDS = (
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


def kind(mode: int) -> str:
    """In words, what a name that is no regular file stands for, by its mode."""
    name = next((name for test, name in _KINDS if test(mode)), "something else")
    return f"{name}, not a regular file"
