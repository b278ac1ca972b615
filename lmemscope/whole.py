"""Files that are written whole or not at all.

A file is written beside its place, under a name of its own, and renamed: whoever reads it meanwhile
sees the old one, and so does everyone after a full disk or a killed program.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat

_CANNOT_BE_BESIDE = (errno.EACCES, errno.EPERM, errno.EROFS)
_IN_PLACE = ("/dev/", "/proc/")


def write(path: str, content: bytes, *, own: bool = False) -> None:
    """Replace a file's content, or make the file.

    A link stays one, and the file that it leads to keeps its permissions. A device or a pipe is
    written to, and so is a file in a directory that takes no other.

    Args:
        path: of the file.
        content: all of it.
        own: nobody but this program gives the file its name, as in the cache: what is no regular
            file there is replaced.

    Raises:
        BrokenPipeError: it is a pipe that nobody reads.
        OSError: it cannot be written; a regular file is then as it was.
    """
    known = _status(path)
    if own and known is not None and not stat.S_ISREG(known.st_mode):
        os.unlink(path)
        known = None
    device = known is not None and not stat.S_ISREG(known.st_mode)
    if device or os.path.abspath(path).startswith(_IN_PLACE):
        _write_in_place(path, content)
        return
    target = os.path.realpath(path)
    if known is not None and not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), target)
    try:
        descriptor, temporary = _beside(target)
    except OSError as error:
        if known is None or error.errno not in _CANNOT_BE_BESIDE:
            raise
        _write_in_place(target, content)
        return
    try:
        with open(descriptor, "wb") as stream:
            if known is not None:
                _made_like(descriptor, known)
            stream.write(content)
        os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def _status(path: str) -> os.stat_result | None:
    try:
        return os.stat(path)
    except FileNotFoundError:
        return None


def append(path: str, content: bytes) -> None:
    """Add to a file that others write too.

    Raises:
        OSError: as `write`.
    """
    _write_in_place(path, content, os.O_APPEND)


def _write_in_place(path: str, content: bytes, how: int = os.O_TRUNC) -> None:
    # Without blocking: opening a pipe waits for somebody who reads.
    flags = os.O_WRONLY | os.O_CREAT | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY | how
    try:
        descriptor = os.open(path, flags, 0o666)
    except OSError as error:
        known = _status(path)
        if error.errno == errno.ENXIO and known is not None and stat.S_ISFIFO(known.st_mode):
            raise BrokenPipeError(errno.EPIPE, "it is a pipe that nobody reads", path) from error
        raise
    os.set_blocking(descriptor, True)
    with open(descriptor, "wb") as stream:
        stream.write(content)


def _beside(target: str) -> tuple[int, str]:
    """A new file in the target's directory, and its path.

    Not with `tempfile`: the file is to have the permissions that the user's umask gives.
    """
    directory = os.path.dirname(target)
    while True:
        temporary = os.path.join(directory, f".lmemscope-{os.urandom(6).hex()}")
        with contextlib.suppress(FileExistsError):
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
            descriptor = os.open(temporary, flags, 0o666)
            return descriptor, temporary


def _made_like(descriptor: int, known: os.stat_result) -> None:
    """Give a file the owner and permissions of the one that it takes the place of."""
    with contextlib.suppress(OSError):  # only root may give files away
        os.fchown(descriptor, known.st_uid, known.st_gid)
    with contextlib.suppress(OSError):
        os.fchmod(descriptor, stat.S_IMODE(known.st_mode))
