"""Read a unit's file as bytes or text; errors name the file."""

from __future__ import annotations

import errno

from lmemscope.errors import InputError
from lmemscope.files import read_input
from lmemscope.formats.cupy_cache import unwrapped
from lmemscope.model import Gap, Unit
from lmemscope.sources.encoding import decoded, encoded, is_encodable, wide_encoding


def read_bytes(unit: Unit) -> bytes:
    """The bytes of a unit's file.

    Raises:
        InputError: it does not exist or cannot be read.
    """
    try:
        return unwrapped(read_input(unit.path, unit.options.max_file_size))
    except FileNotFoundError as error:
        raise InputError("read", f"{unit.input} does not exist", hint="check the path") from error
    except OSError as error:
        hint = "--max-file-size takes larger ones" if error.errno == errno.EFBIG else None
        said = f"{unit.input} cannot be read: {error.strerror}"
        raise InputError("read", said, hint=hint) from error


def read_text(unit: Unit, what: str) -> str:
    """The text of a unit's file without a byte order mark; bytes that are not UTF-8 are kept.

    Raises:
        InputError: it cannot be read, is binary, or is encoded in a way no CUDA compiler accepts.
    """
    # Warp saves the text as passed to NVRTC, with its terminating NUL.
    data = read_bytes(unit).removesuffix(b"\0")
    wide = wide_encoding(data)
    if wide is not None:
        raise InputError(
            "read",
            f"{unit.input} is {wide}, which nvcc does not take (byte order mark)",
            hint=f"convert it, for example: iconv -f {wide} -t UTF-8",
        )
    if b"\0" in data:
        raise InputError(
            "read",
            f"{unit.input} is binary, not {what} (NUL byte at offset {data.index(0)})",
            hint="cubins are read when their name ends in .cubin",
        )
    return decoded(data).text


def encoding_gaps(unit: Unit, text: str) -> tuple[Gap, ...]:
    """A gap if the text from `read_text` was not UTF-8: how it was decoded."""
    if is_encodable(text):
        return ()
    odd = encoded(text)
    at = decoded(odd).odd_byte
    assert at is not None
    line = odd.count(b"\n", 0, at) + 1
    said = f"the encoding of {unit.input}: byte 0x{odd[at]:02x} in line {line} is not UTF-8"
    return (Gap("read", f"{said}; compiled byte for byte, shown as Latin-1"),)
