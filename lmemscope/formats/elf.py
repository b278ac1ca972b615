"""Read the parts of ELF64 that cubins use: sections, symbols, relocations.

A separate reader based on `struct`, because it is imported in every scan, and a general ELF library
takes longer to import than the cubin takes to read. Layouts: System V ABI, "ELF-64 Object File
Format", figures 2 (file header), 4 (section header), 6 (symbol) and 8 (relocation).
"""

from __future__ import annotations

import struct
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import starmap
from typing import TypeAlias

from msgspec import Struct

from lmemscope.errors import FormatError

_FILE_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION_HEADER = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_RELA = struct.Struct("<QQq")
_REL = struct.Struct("<QQ")
_SHARED, _SPARE = 4, 1 << 16
"""Average number of times that a byte may be read (sections of cubins overlap slightly, and names
share suffixes), and an allowance in bytes for small string tables."""
_SymbolRecord: TypeAlias = tuple[int, int, int, int, int, int]
_ELFCLASS64_LITTLE = b"\x7fELF\x02\x01"

_ET_REL = 1
SHT_SYMTAB, SHT_RELA, SHT_NOBITS, SHT_REL = 2, 4, 8, 9
SHF_ALLOC, SHF_EXECINSTR = 2, 4
WITHOUT_BYTES = frozenset({SHT_NOBITS, 0x70000007, 0x70000009, 0x7000000A})
"""Types of sections that occupy no space in the file. Relocatable cubins use NVIDIA's own types for
uninitialised global, local and shared memory (``.nv.global``, ``.nv.local``, ``.nv.shared``)."""
STT_FUNC = 2
STB_LOCAL = 0


class Section(Struct, frozen=True, gc=False):
    """A section header; ``offset`` and ``size`` are bytes in the file."""

    number: int
    name: str
    type: int
    flags: int
    offset: int
    size: int
    link: int
    info: int


class Symbol(Struct, frozen=True, gc=False):
    """A symbol table entry; ``value`` is an offset into section ``section``."""

    number: int
    name: str
    type: int
    binding: int
    other: int
    section: int
    value: int
    size: int


def extent(data: bytes | memoryview) -> int:
    """The file's size in bytes according to its headers (tables only, not section contents).

    Raises:
        FormatError: not a 64-bit little-endian ELF file.
    """
    if data[: len(_ELFCLASS64_LITTLE)] != _ELFCLASS64_LITTLE or len(data) < _FILE_HEADER.size:
        raise FormatError("cubin", "not a 64-bit little-endian ELF file")
    header = _FILE_HEADER.unpack_from(data)
    programs = header[5] + header[9] * header[10]
    sections = header[6] + header[11] * header[12]
    return int(max(programs, sections))


class Strings:
    """A section of NUL-terminated strings, looked up by offset.

    Offsets may point anywhere in a string, so a damaged table could return one long string at as
    many lengths as it has bytes; excessive sharing is rejected.

    Args:
        data: the whole section.
    """

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._known: dict[int, str] = {}
        self._left = _SHARED * len(data) + _SPARE

    def at(self, offset: int) -> str:
        """The string at an offset; empty past the end.

        Raises:
            FormatError: it is unterminated, or the requested strings overlap excessively.
        """
        known = self._known.get(offset)
        if known is not None:
            return known
        end = self._data.find(b"\0", offset)
        if end < 0 and offset < len(self._data):
            raise FormatError("cubin", "the ELF file has a name without an end")
        if offset and self._data[offset - 1 : offset] != b"\0":
            self._left -= end - offset
        if self._left < 0:
            raise FormatError("cubin", "the ELF file has names that overlap")
        found = self._data[offset : max(end, offset)].decode("utf-8", "replace")
        return self._known.setdefault(offset, found)

    def is_at(self, offset: int, name: str) -> bool:
        """Whether the string at an offset is a name; does not look up the others."""
        if self._data.startswith(name.encode() + b"\0", offset):
            return True
        return "\ufffd" in name and self.at(offset) == name

    def may_hold(self, part: str) -> bool:
        """Whether a part of a name is in the section."""
        return part.encode() in self._data


class ElfFile:
    """An ELF64 little-endian file in memory.

    Raises:
        FormatError: not such a file, or its tables are outside the data.
    """

    def __init__(self, data: bytes | memoryview) -> None:
        if extent(data) > len(data):
            raise FormatError("cubin", "the ELF file is cut off: its tables lie outside of it")
        self.data = memoryview(data)
        header = _FILE_HEADER.unpack_from(data)
        ident, self.machine, self.flags = header[0], header[2], header[7]
        self.is_relocatable = header[1] == _ET_REL
        self.abi_version: int = ident[8]
        table, entry_size, count, names = header[6], header[11], header[12], header[13]
        if entry_size != _SECTION_HEADER.size:
            raise FormatError("cubin", "the ELF file has section headers of an unknown size")
        raw = [*_SECTION_HEADER.iter_unpack(self.data[table : table + count * entry_size])]
        stored = [r for r in raw if r[1] not in WITHOUT_BYTES]
        if max((r[4] + r[5] for r in stored), default=0) > len(data):
            raise FormatError("cubin", "the ELF file is cut off: a section lies outside of it")
        # Each section's bytes are read separately: shared ones would be read many times.
        if sum(r[5] for r in stored) > _SHARED * len(data):
            raise FormatError("cubin", "the ELF file has sections that overlap")
        if raw and names >= len(raw):
            raise FormatError("cubin", "the ELF file has no names of sections")
        found = bytes(self.data[raw[names][4] : raw[names][4] + raw[names][5]]) if raw else b""
        strings = Strings(found)
        self.sections = tuple(
            Section(i, strings.at(r[0]), r[1], r[2], r[4], r[5], r[6], r[7])
            for i, r in enumerate(raw)
        )
        self._by_name = {section.name: section for section in reversed(self.sections)}

    def section(self, name: str) -> Section | None:
        """The first section with a name, or None."""
        return self._by_name.get(name)

    def content(self, section: Section) -> memoryview:
        """The bytes of a section; empty if it occupies no space in the file."""
        if section.type in WITHOUT_BYTES:
            return self.data[:0]
        return self.data[section.offset : section.offset + section.size]

    @cached_property
    def _table(self) -> tuple[Strings, memoryview]:
        """The symbol names, and the bytes of the symbol table."""
        table = next((section for section in self.sections if section.type == SHT_SYMTAB), None)
        if table is None:
            return Strings(b""), self.data[:0]
        if table.link >= len(self.sections):
            raise FormatError("cubin", "the ELF file has symbols without names")
        content, names = self.content(table), bytes(self.content(self.sections[table.link]))
        if names and not names.endswith(b"\0"):
            raise FormatError("cubin", "the ELF file has a name without an end")
        whole = len(content) - len(content) % _SYMBOL.size
        return Strings(names), content[:whole]

    @cached_property
    def symbols(self) -> tuple[Symbol, ...]:
        """The symbol table, in file order, so that an index is a position."""
        return tuple(starmap(self._named, enumerate(_SYMBOL.iter_unpack(self._table[1]))))

    @cached_property
    def _functions(self) -> Mapping[int, Sequence[tuple[int, _SymbolRecord]]]:
        """Numbers and records of functions' symbols by section index, in file order."""
        result: defaultdict[int, list[tuple[int, _SymbolRecord]]] = defaultdict(list)
        for number, record in enumerate(_SYMBOL.iter_unpack(self._table[1])):
            if record[1] & 15 == STT_FUNC:
                result[record[3]].append((number, record))
        return dict(result)

    def functions(self, section: Section) -> list[Symbol]:
        """The functions in a section, in file order."""
        return list(starmap(self._named, self._functions.get(section.number, ())))

    def function(self, section: Section, name: str) -> Symbol | None:
        """The first function in a section with a name; the other names are not looked up."""
        for number, record in self._functions.get(section.number, ()):
            if self._table[0].is_at(record[0], name):
                return _symbol(number, name, record)
        return None

    def _named(self, number: int, record: _SymbolRecord) -> Symbol:
        return _symbol(number, self._table[0].at(record[0]), record)

    def may_name(self, part: str) -> bool:
        """Whether some symbol may have a name with a part; far faster than to read all symbols."""
        return self._table[0].may_hold(part)

    @cached_property
    def _relocating(self) -> Mapping[int, Sequence[Section]]:
        """Relocation tables by the index of the section they apply to."""
        result: defaultdict[int, list[Section]] = defaultdict(list)
        for table in self.sections:
            if table.type in (SHT_RELA, SHT_REL):
                result[table.info].append(table)
        return dict(result)

    def relocations(self, section: Section) -> dict[int, Symbol]:
        """The symbol that each relocated offset of a section refers to.

        Raises:
            FormatError: it refers to a nonexistent symbol.
        """
        result: dict[int, Symbol] = {}
        for table in self._relocating.get(section.number, ()):
            for offset, symbol, _ in _references(self.content(table), table.type):
                result[offset] = self._symbol(symbol)
        return result

    def symbols_meant(self, section: Section) -> tuple[Symbol, ...]:
        """Symbols whose addresses are relocated into a section, in offset order.

        Raises:
            FormatError: as `relocations`.
        """
        found = [
            (offset, symbol)
            for table in self._relocating.get(section.number, ())
            for offset, symbol, addend in _references(self.content(table), table.type)
            if not addend
        ]
        return tuple(self._symbol(symbol) for _, symbol in sorted(found))

    def _symbol(self, number: int) -> Symbol:
        if number >= len(self.symbols):
            raise FormatError("cubin", "the ELF file relocates by a symbol it has not")
        return self.symbols[number]


def _symbol(number: int, name: str, record: _SymbolRecord) -> Symbol:
    _, info, other, section, value, size = record
    return Symbol(number, name, info & 15, info >> 4, other, section, value, size)


def _references(content: memoryview, kind: int) -> Iterator[tuple[int, int, int]]:
    """Offset, symbol and addend of each relocation; a truncated last one is ignored.

    In tables without addends it is 0: the addend is in the code.
    """
    record = _RELA if kind == SHT_RELA else _REL
    whole = len(content) - len(content) % record.size
    for offset, info, *addend in record.iter_unpack(content[:whole]):
        yield offset, info >> 32, addend[0] if addend else 0
