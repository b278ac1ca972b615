"""Read a cubin's line tables: the source line, or PTX line, of each instruction.

Both ``.debug_line`` (source) and ``.nv_debug_line_sass`` (PTX text) contain DWARF line programs
(DWARF 3, section 6.2), one sequence per code section, which relocations identify. NVIDIA adds two
extended opcodes: 0x90 inlined_call (two ULEB128: the table row of the call site, 0 for "no longer
inlined", and the function's name as an offset into ``.debug_str``) and 0x91 set_function_name.
Measured against ``nvdisasm -gi``; see docs/how-it-works.md.
"""

from __future__ import annotations

import struct
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass

from lmemscope.errors import FormatError
from lmemscope.formats.elf import ElfFile, Strings
from lmemscope.formats.file_names import joined
from lmemscope.model import InlineFrame

_DEEPEST = 200
"""Maximum inlining depth; compilers stop long before."""
_LONGEST = 70
"""Bits in a LEB128 number, seven per byte; some may be redundant zeros beyond 64."""
_END_SEQUENCE, _SET_ADDRESS, _DEFINE_FILE = 1, 2, 3
_INLINED_CALL, _SET_FUNCTION_NAME = 0x90, 0x91
(
    _COPY,
    _ADVANCE_PC,
    _ADVANCE_LINE,
    _SET_FILE,
    _SET_COLUMN,
    _NEGATE_STMT,
    _SET_BASIC_BLOCK,
    _CONST_ADD_PC,
    _FIXED_ADVANCE_PC,
) = range(1, 10)


@dataclass(frozen=True, slots=True)
class InlinedLine:
    """The location from ``pc`` on: the innermost frame first, then each call site outwards.

    A frame's function is the one that contains the line; the outermost is None, because it is the
    function that contains the instruction.
    """

    pc: int
    chain: tuple[InlineFrame, ...]

    @property
    def line(self) -> int:
        """Line of the innermost frame."""
        return self.chain[0].location.line


def line_at(table: list[InlinedLine], pc: int) -> InlinedLine | None:
    """The entry that covers ``pc``, or None before the first one."""
    index = bisect_right(table, pc, key=lambda entry: entry.pc)
    return table[index - 1] if index else None


def read_line_table(elf: ElfFile, section_name: str) -> dict[str, list[InlinedLine]]:
    """Read a line section into one sorted list per code section; empty without that section.

    Raises:
        FormatError: the line program is malformed.
    """
    section = elf.section(section_name)
    if section is None:
        return {}
    strings_section = elf.section(".debug_str")
    strings = Strings(bytes(elf.content(strings_section)) if strings_section is not None else b"")
    relocations = elf.relocations(section)
    data = bytes(elf.content(section))
    result: dict[str, list[InlinedLine]] = {}
    position = 0
    try:
        while position + 4 <= len(data):
            length = int.from_bytes(data[position : position + 4], "little")
            end = position + 4 + length
            # A line program must not be read past its end, where the next one begins.
            program = _LineProgram(data[position:end], strings)
            for address_at, entries in program.sequences():
                symbol = relocations.get(position + address_at) if address_at >= 0 else None
                if symbol is not None and symbol.section < len(elf.sections):
                    owner = elf.sections[symbol.section].name
                    result.setdefault(owner, []).extend(entries)
            position = end
    except (IndexError, ValueError, ZeroDivisionError, struct.error) as error:
        raise FormatError("cubin", f"{section_name} is malformed near byte {position}") from error
    for entries in result.values():
        entries.sort(key=lambda entry: entry.pc)
    return result


@dataclass(slots=True)
class _Row:
    """The columns of a line matrix row that are used; ``context`` is the row of the call site."""

    pc: int
    file: int
    line: int
    context: int
    function: str | None


class _LineProgram:
    """One unit in a line section: header, file table, sequences."""

    def __init__(self, data: bytes, strings: Strings) -> None:
        self._data, self._strings = data, strings
        version, header_length = struct.unpack_from("<HI", data, 4)
        if not 2 <= version <= 4:
            raise FormatError("cubin", f"DWARF line program of version {version} is not supported")
        position = 10
        self._program = position + header_length
        self._min_instruction = data[position]
        position += 1 if version < 4 else 2
        self._line_base = struct.unpack_from("<b", data, position + 1)[0]
        self._line_range, self._opcode_base = data[position + 2], data[position + 3]
        self._operand_counts = data[position + 4 : position + 3 + self._opcode_base]
        position += 3 + self._opcode_base
        directories = [b""]
        while data[position]:
            text, position = self._text(position)
            directories.append(text)
        position += 1
        self._files = [""]
        while data[position]:
            text, position = self._text(position)
            directory, position = _uleb(data, position)
            _, position = _uleb(data, position)
            _, position = _uleb(data, position)
            folder = directories[directory] if directory < len(directories) else b""
            self._files.append(joined(folder, text))

    def sequences(self) -> Iterable[tuple[int, list[InlinedLine]]]:
        """Each sequence with the offset of the address operand that its relocation patches."""
        data, position = self._data, self._program
        rows: list[_Row] = []
        state = _Row(0, 1, 1, 0, None)
        address_at = -1
        while position < len(data):
            opcode = data[position]
            position += 1
            if opcode >= self._opcode_base:
                adjusted = opcode - self._opcode_base
                state.pc += adjusted // self._line_range * self._min_instruction
                state.line += self._line_base + adjusted % self._line_range
                rows.append(_Row(state.pc, state.file, state.line, state.context, state.function))
            elif opcode == 0:
                size, position = _uleb(data, position)
                extended = data[position]
                if extended == _END_SEQUENCE:
                    yield address_at, self._resolve(rows)
                    rows, state, address_at = [], _Row(0, 1, 1, 0, None), -1
                elif extended == _SET_ADDRESS:
                    address_at = position + 1
                    state.pc = int.from_bytes(data[position + 1 : position + size], "little")
                elif extended == _INLINED_CALL:
                    state.context, at = _uleb(data, position + 1)
                    offset, _ = _uleb(data, at)
                    state.function = self._strings.at(offset) or None if state.context else None
                position += size
            elif opcode == _COPY:
                rows.append(_Row(state.pc, state.file, state.line, state.context, state.function))
            elif opcode == _ADVANCE_PC:
                advance, position = _uleb(data, position)
                state.pc += advance * self._min_instruction
            elif opcode == _ADVANCE_LINE:
                advance, position = _sleb(data, position)
                state.line += advance
            elif opcode == _SET_FILE:
                state.file, position = _uleb(data, position)
            elif opcode == _CONST_ADD_PC:
                state.pc += (255 - self._opcode_base) // self._line_range * self._min_instruction
            elif opcode == _FIXED_ADVANCE_PC:
                state.pc += struct.unpack_from("<H", data, position)[0]
                position += 2
            elif opcode not in (_NEGATE_STMT, _SET_BASIC_BLOCK):
                for _ in range(self._operand_counts[opcode - 1]):
                    _, position = _uleb(data, position)

    def _resolve(self, rows: list[_Row]) -> list[InlinedLine]:
        """Follow each row's call sites outwards."""
        chains: list[tuple[InlineFrame, ...]] = []
        known: dict[tuple[int, int, str | None, int], tuple[InlineFrame, ...]] = {}
        for index, row in enumerate(rows):
            # A call site is an earlier row: anything else would be a cycle.
            context = row.context if 0 < row.context <= index else 0
            key = (row.file, row.line, row.function, context)
            chain = known.get(key)
            if chain is None:
                file = self._files[row.file] if row.file < len(self._files) else ""
                frame = InlineFrame(file, row.line, row.function)
                outer = chains[context - 1] if context else ()
                if len(outer) >= _DEEPEST:
                    raise FormatError("cubin", f"calls are inlined more than {_DEEPEST} deep")
                chain = known[key] = (frame, *outer)
            chains.append(chain)
        return [InlinedLine(row.pc, chain) for row, chain in zip(rows, chains, strict=True)]

    def _text(self, position: int) -> tuple[bytes, int]:
        end = self._data.index(b"\0", position)
        return self._data[position:end], end + 1


def _uleb(data: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while shift < _LONGEST:
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if not byte & 0x80:
            return value, position
        shift += 7
    raise ValueError("a number has no end")


def _sleb(data: bytes, position: int) -> tuple[int, int]:
    start = position
    value, position = _uleb(data, position)
    bits = 7 * (position - start)
    return (value - (1 << bits) if value >> (bits - 1) & 1 else value), position
