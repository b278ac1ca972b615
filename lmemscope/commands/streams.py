"""Hold back standard output until the exit code is known, and escape what it cannot encode.

A reader that closes early (``| head``) is not an error and must not change the gate's exit code; a
full disk is one. Because the text is written once, at the end, both are handled in one place.
"""

from __future__ import annotations

import codecs
import io
import os
import select
import sys

ESCAPED = "lmemscope.visible"
"""Encoding error handler for text with unencodable characters: see `visible`."""


class HeldOutput(io.BytesIO):
    """What has been written to standard output so far.

    Args:
        is_closed: whether the program was started without a standard output.
    """

    def __init__(self, *, is_closed: bool) -> None:
        super().__init__()
        self._is_closed = is_closed

    def isatty(self) -> bool:
        """Whether the text will go to a terminal."""
        return os.isatty(1)

    def pass_on(self, descriptor: int = 1) -> str | None:
        """Write everything; return why that failed, or None. A closed reader is not a failure."""
        left = self.getbuffer()
        if left and self._is_closed:
            return "it is closed"
        while left:
            try:
                left = left[os.write(descriptor, left) :]
            except BlockingIOError:
                # Another process sharing the terminal or pipe has made it non-blocking.
                select.select([], [descriptor], [])
            except BrokenPipeError:
                return None
            except OSError as error:
                return error.strerror or str(error)
        return None


def take_over() -> HeldOutput:
    """Hold back standard output; a closed standard stream becomes the null device.

    Otherwise, a file opened later would get its number.
    """
    closed = []
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            closed.append(descriptor)
            os.open(os.devnull, os.O_RDWR)  # gets the lowest free number: this one
    if sys.stdin is None:
        sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115 - as Python opens it
    if sys.stderr is None:
        sys.stderr = open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr.reconfigure(errors=ESCAPED)  # type: ignore[union-attr]
    held = HeldOutput(is_closed=1 in closed)
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    sys.stdout = io.TextIOWrapper(held, encoding=encoding, errors=ESCAPED)
    return held


def visible(error: UnicodeError) -> tuple[str | bytes, int]:
    r"""Escape what an encoding lacks: non-UTF-8 bytes in a name as ``\xff``, the rest as ``?``."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    found = error.object[error.start : error.end]
    return "".join(_shown(one) for one in found), error.end


def _shown(character: str) -> str:
    code = ord(character)
    return f"\\x{code - 0xDC00:02x}" if 0xDC80 <= code <= 0xDCFF else "?"


codecs.register_error(ESCAPED, visible)
