"""A unit's file as bytes or text; what is wrong with it is said with the file's name."""

from __future__ import annotations

from pathlib import Path

from lmemscope.errors import InputError
from lmemscope.model import Unit


def read_bytes(unit: Unit) -> bytes:
    """Bytes of a unit's file.

    Raises:
        InputError: it does not exist or cannot be read.
    """
    try:
        return Path(unit.path).read_bytes()
    except FileNotFoundError as error:
        raise InputError("read", f"{unit.input} does not exist", hint="check the path") from error
    except OSError as error:
        raise InputError("read", f"{unit.input} cannot be read: {error.strerror}") from error


def read_text(unit: Unit, what: str) -> str:
    """Text of a unit's file, without a byte order mark.

    Args:
        unit: whose file.
        what: it should hold, for messages.

    Raises:
        InputError: it cannot be read, is binary, or is not UTF-8.
    """
    data = read_bytes(unit)
    if b"\0" in data:
        raise InputError(
            "read",
            f"{unit.input} is binary, not {what} (NUL byte at offset {data.index(0)})",
            hint="cubins are read when their name ends in .cubin",
        )
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(
            "read",
            f"{unit.input} is not UTF-8: byte 0x{data[error.start]:02x} in line {line}",
            hint="convert it, for example: iconv -f LATIN1 -t UTF-8",
        ) from error
