"""Standard output and standard error that never raise: what happens to them is said at the end.

A reader that goes away (``| head``) is no error, and must not change what a gate says. A disk that
is full is one, wherever the text came from: a report, a help page, the parser of the command line.
So the lowest layer of both streams takes everything, and remembers what it could not pass on.
"""

from __future__ import annotations

import codecs
import io
import os
import select
import sys
from typing import IO, Any

ESCAPED = "lmemscope.visible"
"""How text is encoded that may hold what the encoding lacks: see `visible`."""


class Channel(io.RawIOBase):
    """A file descriptor to write to.

    Args:
        descriptor: of the file.
        lost: why nothing can be written, where that is known from the start.

    Attributes:
        lost: why something was not written, or None. A reader that went away is no reason.
    """

    def __init__(self, descriptor: int, lost: str | None = None) -> None:
        super().__init__()
        self._descriptor = descriptor
        self._closed_before = lost
        self._no_reader = False
        self.lost: str | None = None

    def writable(self) -> bool:
        """Yes."""
        return True

    def fileno(self) -> int:
        """The file descriptor."""
        return self._descriptor

    def isatty(self) -> bool:
        """Whether a person watches."""
        return os.isatty(self._descriptor)

    def write(self, data: Any, /) -> int:
        """Take all of the bytes, and pass them on as long as that can be done."""
        size = len(data)
        if size and self._closed_before is not None:
            self.lost = self._closed_before
        left = memoryview(data)
        while left and self.lost is None and not self._no_reader:
            try:
                left = left[os.write(self._descriptor, left) :]
            except BlockingIOError:
                # Whoever shares the terminal or pipe has made it so.
                select.select([], [self._descriptor], [])
            except BrokenPipeError:
                self._no_reader = True
            except OSError as error:
                self.lost = error.strerror or str(error)
        return size


def take_over() -> tuple[Channel, Channel]:
    """Make `sys.stdout` and `sys.stderr` such streams; a closed descriptor is none for others.

    A file opened later would otherwise get its number, and what libraries print.
    """
    missing = []
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            missing.append(descriptor)
            os.open(os.devnull, os.O_RDWR)  # gets the lowest number that is free: this one
    if sys.stdin is None:
        sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115 - as Python opens it
    channels = []
    for descriptor in (1, 2):
        lost = "it is closed" if descriptor in missing else None
        channels.append(Channel(descriptor, lost))
    out, err = channels
    sys.stdout = _text(out, sys.stdout)
    sys.stderr = _text(err, sys.stderr, line_buffering=True)
    return out, err


def visible(error: UnicodeError) -> tuple[str | bytes, int]:
    r"""What an encoding lacks: bytes of a name that are no UTF-8 as ``\xff``, others as ``?``."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    found = error.object[error.start : error.end]
    return "".join(_shown(one) for one in found), error.end


def _shown(character: str) -> str:
    code = ord(character)
    return f"\\x{code - 0xDC00:02x}" if 0xDC80 <= code <= 0xDCFF else "?"


def _text(channel: Channel, old: IO[str] | None, line_buffering: bool = False) -> io.TextIOWrapper:
    encoding = getattr(old, "encoding", None) or "utf-8"
    return io.TextIOWrapper(
        io.BufferedWriter(channel),
        encoding=encoding,
        errors=ESCAPED,
        line_buffering=line_buffering or channel.isatty(),
    )


codecs.register_error(ESCAPED, visible)
