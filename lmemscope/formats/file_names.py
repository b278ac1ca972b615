r"""Decode source file names as compilers write them: non-ASCII bytes as ``\303\266``.

NVIDIA's front end writes ``.file`` names like this, and ptxas copies them into line tables
unchanged (measured with 13.5).
"""

from __future__ import annotations

import re

_ESCAPE = re.compile(rb'\\(?:([0-3][0-7]{2})|(["\\]))')


def file_name(written: bytes) -> str:
    """A file's name as in the file system; bytes that are not UTF-8 as surrogates."""
    plain = _ESCAPE.sub(_meant, written) if b"\\" in written else written
    return plain.decode("utf-8", "surrogateescape")


def joined(directory: bytes, name: bytes) -> str:
    r"""A file in a line table, where ptxas stores the directory separately.

    ptxas also takes the backslash of an escape for a separator and drops it: ``k\303`` and
    ``266.cu`` are ``kö.cu``. A split character shows where this happened.
    """
    if not directory or name[:1] == b"/":
        return file_name(name)
    if b"\\" in directory and _is_cut(directory) and not _is_cut(directory + b"\\" + name):
        return file_name(directory + b"\\" + name)
    return file_name(directory + b"/" + name)


def _is_cut(written: bytes) -> bool:
    return any("\udc80" <= character <= "\udcff" for character in file_name(written))


def _meant(match: re.Match[bytes]) -> bytes:
    number, character = match.groups()
    return bytes([int(number, 8)]) if number is not None else bytes(character)
