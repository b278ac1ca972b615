r"""Names of source files as compilers write them: bytes beyond ASCII as ``\303\266``.

NVIDIA's front end writes ``.file`` names so, and ptxas copies them into line tables unchanged
(measured with 13.5).
"""

from __future__ import annotations

import re

_ESCAPE = re.compile(rb'\\(?:([0-3][0-7]{2})|(["\\]))')


def file_name(written: bytes) -> str:
    """A file's name as the file system has it; bytes that are no UTF-8 as surrogates."""
    plain = _ESCAPE.sub(_meant, written) if b"\\" in written else written
    return plain.decode("utf-8", "surrogateescape")


def joined(directory: bytes, name: bytes) -> str:
    """A file of a line table, of which ptxas keeps the directory apart.

    It also takes the backslash of an escape for a separator, and drops it: ``k\\303`` and
    ``266.cu`` are ``kö.cu``. A character that is cut in two shows where it did.
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
