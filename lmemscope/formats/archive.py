"""Read ``ar`` archives, such as static libraries: names and bytes of their members.

Layout: ar(5) with GNU's table of long names (``//``) and BSD's names before the data (``#1/N``).
"""

from __future__ import annotations

from collections.abc import Iterator

from lmemscope.errors import FormatError

MAGIC = b"!<arch>\n"
THIN = b"!<thin>\n"
_HEADER = 60
_TABLES = frozenset({"/", "/SYM64/", "__.SYMDEF", "__.SYMDEF SORTED"})


def members(data: memoryview) -> Iterator[tuple[str, memoryview]]:
    """Name and bytes of each member, without the tables of names and symbols.

    Raises:
        FormatError: the archive is damaged; earlier members have been returned.
    """
    if data[: len(THIN)] == THIN:
        raise FormatError(
            "archive", "it is a thin archive: its members are files of their own", hint="name these"
        )
    long_names = b""
    position = len(MAGIC)
    while position + _HEADER <= len(data):
        header = bytes(data[position : position + _HEADER])
        if header[58:] != b"`\n":
            raise FormatError("archive", f"the member at offset {position} has no header")
        size, begin = _number(header[48:58], position), position + _HEADER
        if begin + size > len(data):
            raise FormatError("archive", f"the member at offset {position} is cut off")
        content = data[begin : begin + size]
        name = header[:16].decode("utf-8", "replace").rstrip()
        position = begin + size + size % 2
        if name == "//":
            long_names = bytes(content)
            continue
        if name.startswith("#1/"):
            length = min(_number(header[3:16], position), size)
            name = bytes(content[:length]).rstrip(b"\0").decode("utf-8", "replace")
            content = content[length:]
        elif name.startswith("/") and name[1:].isdigit():
            start = _number(header[1:16], position)
            name = long_names[start : start + 4096].partition(b"\n")[0].decode("utf-8", "replace")
        if name not in _TABLES:
            yield name.removesuffix("/"), content
    if len(data) - position > 1:
        raise FormatError("archive", f"the member at offset {position} is cut off")


def _number(digits: bytes, position: int) -> int:
    text = digits.strip()
    if not text.isdigit():
        raise FormatError("archive", f"the header before offset {position} is damaged")
    return int(text)
