"""Hand-made linked images: an ELF file with functions, their frames and their calls."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

UNKNOWN = 0xFFFFFFFF
_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_REGCOUNT, _FRAME, _STACK = 0x2F, 0x11, 0x12


@dataclass(frozen=True)
class Function:
    """A function of the image; ``stack`` is that of the deepest path, or `UNKNOWN`."""

    frame: int = 0
    registers: int = 24
    entry: bool = False
    local: bool = False
    stack: int | None = None
    code: bytes = bytes(16)


def image(
    functions: Mapping[str, Function],
    direct: Sequence[tuple[str, str]] = (),
    through: Sequence[tuple[str, str]] = (),
    taken: Sequence[tuple[str, str]] = (),
    holds: Sequence[tuple[str, str]] = (),
    tables: Mapping[str, Sequence[str]] = {},
) -> bytes:
    """The bytes of a linked image.

    Args:
        functions: by mangled name.
        direct: caller and callee.
        through: caller and signature that it calls through pointers.
        taken: function whose address is taken, and its signature.
        holds: function, and function whose address it holds.
        tables: variables, with the functions whose addresses they hold.
    """
    strings = _Strings()
    names = ["", *functions, *tables]
    index = {name: number for number, name in enumerate(names)}
    sections: list[tuple[str, int, int, int, int, bytes]] = []
    data = len(functions) + 1
    symbols = [_SYMBOL.pack(0, 0, 0, 0, 0, 0)]
    for number, (name, one) in enumerate(functions.items(), start=1):
        sections.append((f".text.{name}", 1, 6, 0, 0, one.code))
        other = 0x10 if one.entry else 0
        bound = 0x02 if one.local else 0x12
        symbols.append(_SYMBOL.pack(strings.at(name), bound, other, number, 0, len(one.code)))
    places = b""
    relocations = b""
    for name, held in tables.items():
        size = 8 * len(held)
        symbols.append(_SYMBOL.pack(strings.at(name), 0x11, 0, data, len(places), size))
        for at, function in enumerate(held):
            offset = len(places) + 8 * at
            relocations += struct.pack("<QQq", offset, index[function] << 32 | 2, 0)
        places += bytes(size)
    info = b""
    for name, one in functions.items():
        kept = [(_REGCOUNT, one.registers), (_FRAME, one.frame)]
        kept += [(_STACK, one.stack)] if one.stack is not None else []
        for attribute, value in kept:
            info += struct.pack("<BBHII", 4, attribute, 8, index[name], value)
    graph = b""
    for mark, pairs in (
        (0xFFFFFFFF, [(index[a], index[b]) for a, b in direct]),
        (0xFFFFFFFE, [(index[a], strings.at(b)) for a, b in taken]),
        (0xFFFFFFFD, [(index[a], strings.at(b)) for a, b in through]),
        (0xFFFFFFFC, [(index[a], index[b]) for a, b in holds]),
    ):
        graph += b"".join(struct.pack("<II", *pair) for pair in [(0, mark), *pairs])
    table = len(sections) + 5
    sections += [
        (".nv.global.init", 1, 3, 0, 0, places),
        (".rela.nv.global.init", 4, 0x40, table, data, relocations),
        (".nv.info", 0x70000000, 0, 0, 0, info),
        (".nv.callgraph", 0x70000001, 0, 0, 0, graph),
        (".symtab", 2, 0, table + 1, 0, b"".join(symbols)),
        (".strtab", 3, 0, 0, 0, strings.text),
    ]
    return _file(sections)


class _Strings:
    def __init__(self) -> None:
        self.text = b"\0"

    def at(self, name: str) -> int:
        offset = len(self.text)
        self.text += name.encode() + b"\0"
        return offset


def _file(sections: Sequence[tuple[str, int, int, int, int, bytes]]) -> bytes:
    strings = _Strings()
    named = [strings.at(section[0]) for section in sections]
    own = strings.at(".shstrtab")
    headers = [_SECTION.pack(*[0] * 10)]
    body = b""
    for offset, (_, kind, flags, link, info, content) in zip(named, sections, strict=True):
        at = _HEADER.size + len(body)
        headers.append(_SECTION.pack(offset, kind, flags, 0, at, len(content), link, info, 8, 0))
        body += content
    at = _HEADER.size + len(body)
    headers.append(_SECTION.pack(own, 3, 0, 0, at, len(strings.text), 0, 0, 1, 0))
    body += strings.text
    # sm_90 in bits 8 to 15 of the flags, as since ABI version 8.
    ident = b"\x7fELF\x02\x01\x01\x41\x08".ljust(16, b"\0")
    header = _HEADER.pack(
        ident, 2, 190, 1, 0, 0, _HEADER.size + len(body), 90 << 8, 64, 0, 0, 64,
        len(headers), len(headers) - 1,
    )  # fmt: skip
    return header + body + b"".join(headers)
