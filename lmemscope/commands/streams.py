"""Standard output, held back until the command's exit code is known, and what it lacks escaped.

A reader that goes away (``| head``) is no error and must not change what a gate says; a full disk
is one. Held back, the text is written once, and both are seen in one place.
"""

from __future__ import annotations

import codecs
import io
import os
import select
import sys

ESCAPED = "lmemscope.visible"
"""How text is encoded that may hold what the encoding lacks: see `visible`."""


class HeldOutput(io.BytesIO):
    """What was written to standard output so far.

    Args:
        is_closed: whether the program was started without a standard output.
    """

    def __init__(self, *, is_closed: bool) -> None:
        super().__init__()
        self._is_closed = is_closed

    def isatty(self) -> bool:
        """Whether the text will be shown on a terminal."""
        return os.isatty(1)

    def pass_on(self, descriptor: int = 1) -> str | None:
        """Write everything; why that failed, or None. A reader that went away is no failure."""
        left = self.getbuffer()
        if left and self._is_closed:
            return "it is closed"
        while left:
            try:
                left = left[os.write(descriptor, left) :]
            except BlockingIOError:
                # Whoever shares the terminal or pipe has made it so.
                select.select([], [descriptor], [])
            except BrokenPipeError:
                return None
            except OSError as error:
                return error.strerror or str(error)
        return None


def take_over() -> HeldOutput:
    """Hold back standard output; a closed standard stream becomes the null device.

    A file opened later would otherwise get its number.
    """
    closed = []
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            closed.append(descriptor)
            os.open(os.devnull, os.O_RDWR)  # gets the lowest number that is free: this one
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
    r"""What an encoding lacks: bytes of a name that are no UTF-8 as ``\xff``, others as ``?``."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    found = error.object[error.start : error.end]
    return "".join(_shown(one) for one in found), error.end


def _shown(character: str) -> str:
    code = ord(character)
    return f"\\x{code - 0xDC00:02x}" if 0xDC80 <= code <= 0xDCFF else "?"


codecs.register_error(ESCAPED, visible)
