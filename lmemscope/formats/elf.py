"""A reader for the parts of ELF64 that cubins use: sections, symbols, relocations.

Our own, by `struct`, because it is imported on every scan and a general ELF library costs more
time than reading the whole cubin. Layouts: System V ABI, "ELF-64 Object File Format", figures 2
(file header), 4 (section header), 6 (symbol) and 8 (relocation).
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from functools import cached_property

from lmemscope.errors import FormatError

_FILE_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION_HEADER = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_RELA = struct.Struct("<QQq")
_ELFCLASS64_LITTLE = b"\x7fELF\x02\x01"

SHT_SYMTAB, SHT_RELA, SHT_NOBITS, SHT_REL = 2, 4, 8, 9
SHF_EXECINSTR = 4
WITHOUT_BYTES = frozenset({SHT_NOBITS, 0x70000007, 0x70000009, 0x7000000A})
"""Types of sections that take no space in the file. Relocatable cubins have NVIDIA's own for
uninitialised global, local and shared memory (``.nv.global``, ``.nv.local``, ``.nv.shared``)."""
STT_FUNC = 2
STB_LOCAL = 0


@dataclass(frozen=True, slots=True)
class Section:
    """A section header; ``offset`` and ``size`` are bytes in the file."""

    index: int
    name: str
    type: int
    flags: int
    offset: int
    size: int
    link: int
    info: int


@dataclass(frozen=True, slots=True)
class Symbol:
    """A symbol table entry; ``value`` is an offset into section ``section``."""

    index: int
    name: str
    type: int
    binding: int
    other: int
    section: int
    value: int
    size: int


def extent(data: bytes) -> int:
    """Bytes that the file's own headers say it has (tables only, not section contents).

    Raises:
        FormatError: not a 64-bit little-endian ELF file.
    """
    if not data.startswith(_ELFCLASS64_LITTLE) or len(data) < _FILE_HEADER.size:
        raise FormatError("cubin", "not a 64-bit little-endian ELF file")
    header = _FILE_HEADER.unpack_from(data)
    programs = header[5] + header[9] * header[10]
    sections = header[6] + header[11] * header[12]
    return int(max(programs, sections))


class ElfFile:
    """An ELF64 little-endian file in memory.

    Raises:
        FormatError: no such file, or its tables lie outside the data.
    """

    def __init__(self, data: bytes) -> None:
        if extent(data) > len(data):
            raise FormatError("cubin", "the ELF file is cut off: its tables lie outside of it")
        self.data = memoryview(data)
        header = _FILE_HEADER.unpack_from(data)
        ident, self.machine, self.flags = header[0], header[2], header[7]
        self.abi_version: int = ident[8]
        table, entry_size, count, names = header[6], header[11], header[12], header[13]
        if entry_size != _SECTION_HEADER.size:
            raise FormatError("cubin", "the ELF file has section headers of an unknown size")
        raw = [_SECTION_HEADER.unpack_from(data, table + i * entry_size) for i in range(count)]
        if any(r[1] not in WITHOUT_BYTES and r[4] + r[5] > len(data) for r in raw):
            raise FormatError("cubin", "the ELF file is cut off: a section lies outside of it")
        strings = bytes(self.data[raw[names][4] : raw[names][4] + raw[names][5]]) if raw else b""
        self.sections = tuple(
            Section(i, _string(strings, r[0]), r[1], r[2], r[4], r[5], r[6], r[7])
            for i, r in enumerate(raw)
        )

    def section(self, name: str) -> Section | None:
        """The first section of that name, or None."""
        return next((section for section in self.sections if section.name == name), None)

    def content(self, section: Section) -> memoryview:
        """The bytes of a section; empty for one that occupies no space in the file."""
        if section.type in WITHOUT_BYTES:
            return self.data[:0]
        return self.data[section.offset : section.offset + section.size]

    @cached_property
    def symbols(self) -> tuple[Symbol, ...]:
        """The symbol table, in file order, so that an index is a position."""
        table = next((section for section in self.sections if section.type == SHT_SYMTAB), None)
        if table is None:
            return ()
        strings = bytes(self.content(self.sections[table.link]))
        content = self.content(table)
        whole = len(content) - len(content) % _SYMBOL.size
        return tuple(
            Symbol(i, _string(strings, name), info & 15, info >> 4, other, section, value, size)
            for i, (name, info, other, section, value, size) in enumerate(
                _SYMBOL.iter_unpack(content[:whole])
            )
        )

    def relocations(self, section: Section) -> dict[int, Symbol]:
        """Symbol that each relocated place of a section refers to, by offset in that section."""
        result: dict[int, Symbol] = {}
        for table in self.sections:
            if table.info != section.index or table.type not in (SHT_RELA, SHT_REL):
                continue
            content = self.content(table)
            if table.type == SHT_RELA:
                for offset, info, _ in _RELA.iter_unpack(content):
                    result[offset] = self.symbols[info >> 32]
            else:
                for offset, info in struct.iter_unpack("<QQ", content):
                    result[offset] = self.symbols[info >> 32]
        return result


def _string(table: bytes, offset: int) -> str:
    return table[offset : table.find(b"\0", offset)].decode("utf-8", "replace")
