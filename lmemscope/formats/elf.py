"""Read the parts of ELF64 that cubins use: sections, symbols, relocations.

A separate reader based on `struct`, because it is imported in every scan, and a general ELF library
takes longer to import than the cubin takes to read. Layouts: System V ABI, "ELF-64 Object File
Format", figures 2 (file header), 4 (section header), 6 (symbol) and 8 (relocation).
"""

from __future__ import annotations

import struct
from collections import defaultdict
from collections.abc import Container, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import accumulate

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

    Attributes:
        text: the whole section, a character per byte.
    """

    def __init__(self, data: bytes) -> None:
        self.text = data.decode("latin-1")  # one character per byte, so that offsets match
        self._known: dict[int, str] = {}
        if self.text.isascii():
            *ended, _ = self.text.split("\0")
            starts = accumulate((len(one) + 1 for one in ended), initial=0)
            self._known = dict(zip(starts, ended, strict=False))
        self._left = _SHARED * len(data) + _SPARE

    def at(self, offset: int) -> str:
        """The string at an offset; empty past the end.

        Raises:
            FormatError: it is unterminated, or the requested strings overlap excessively.
        """
        known = self._known.get(offset)
        if known is not None:
            return known
        end = self.text.find("\0", offset)
        if end < 0 and offset < len(self.text):
            raise FormatError("cubin", "the ELF file has a name without an end")
        self._left -= end - offset
        if self._left < 0:
            raise FormatError("cubin", "the ELF file has names that overlap")
        found = self.text[offset : max(end, offset)]
        if not found.isascii():
            found = found.encode("latin-1").decode("utf-8", "replace")
        self._known[offset] = found
        return found


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
    def _table(self) -> tuple[Strings, memoryview] | None:
        """The symbol names, and the bytes of the symbol table."""
        table = next((section for section in self.sections if section.type == SHT_SYMTAB), None)
        if table is None:
            return None
        if table.link >= len(self.sections):
            raise FormatError("cubin", "the ELF file has symbols without names")
        content = self.content(table)
        whole = len(content) - len(content) % _SYMBOL.size
        return Strings(bytes(self.content(self.sections[table.link]))), content[:whole]

    @cached_property
    def symbols(self) -> tuple[Symbol, ...]:
        """The symbol table, in file order, so that an index is a position."""
        return tuple(self._symbols(range(16)))

    @cached_property
    def functions(self) -> Mapping[int, Sequence[Symbol]]:
        """Functions by section index, in file order."""
        result: defaultdict[int, list[Symbol]] = defaultdict(list)
        for symbol in self._symbols((STT_FUNC,)):
            result[symbol.section].append(symbol)
        return dict(result)

    def _symbols(self, types: Container[int]) -> Iterator[Symbol]:
        """Symbols of given types, in file order."""
        if self._table is None:
            return
        strings, content = self._table
        for i, (name, info, other, section, value, size) in enumerate(_SYMBOL.iter_unpack(content)):
            if info & 15 in types:
                type_, binding = info & 15, info >> 4
                yield Symbol(i, strings.at(name), type_, binding, other, section, value, size)

    def may_name(self, part: str) -> bool:
        """Whether some symbol may have a name with a part; far faster than to read all symbols."""
        return self._table is not None and part in self._table[0].text

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


def _references(content: memoryview, kind: int) -> Iterator[tuple[int, int, int]]:
    """Offset, symbol and addend of each relocation; a truncated last one is ignored.

    In tables without addends it is 0: the addend is in the code.
    """
    record = _RELA if kind == SHT_RELA else _REL
    whole = len(content) - len(content) % record.size
    for offset, info, *addend in record.iter_unpack(content[:whole]):
        yield offset, info >> 32, addend[0] if addend else 0
