"""Read a cubin from its ELF sections: kernels, registers, frames, local memory sites.

No disassembler is started. NVIDIA does not document the record formats of ``.nv.info``; their
meaning was measured against ptxas, cuobjdump and nvdisasm (see docs/how-it-works.md, "Reading
machine code").
"""

from __future__ import annotations

import math
import re
import struct
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from operator import attrgetter

from msgspec import Struct

from lmemscope.errors import FormatError
from lmemscope.formats.barriers import callers_barriers
from lmemscope.formats.bundled_sites import find_bundled_sites
from lmemscope.formats.elf import (
    SHF_EXECINSTR,
    STB_LOCAL,
    ElfFile,
    Section,
    Symbol,
)
from lmemscope.formats.line_table import InlinedLine, read_line_table
from lmemscope.formats.machine_branches import Branches, find_branches
from lmemscope.formats.machine_calls import find_calls
from lmemscope.formats.sites import LOCAL_OPCODES, Site, find_generic_sites, find_sites
from lmemscope.formats.stack_pointer import find_stack_alignments
from lmemscope.model import KernelKind

_EM_CUDA = 190
ENTRY = 0x10
"""Bit of a symbol's ``st_other`` that marks a kernel."""
_FORMAT_SIZED = 4
_INFO_RECORD = struct.Struct("<BBH")
REGCOUNT, FRAME_SIZE, MIN_STACK_SIZE = 0x2F, 0x11, 0x12
"""Attributes of ``.nv.info``, each with a symbol and a number."""
_MAXREG_COUNT, _ANNOTATIONS = 0x1B, 0x55
_MAX_THREADS, _REQUIRED_THREADS, _DIMENSIONS = 0x05, 0x10, 12
"""Attributes of a kernel, each with three 4-byte dimensions."""
_LARGEST_BLOCK, _LARGEST_SHARED = 1024, 1 << 20
_RESERVED, _RESERVED_FROM = 1024, 90
_ANNOTATED = bytes((_FORMAT_SIZED, _ANNOTATIONS))
_SPILL_REFILL = 1
UNKNOWN_STACK = 0xFFFFFFFF
"""Value of `MIN_STACK_SIZE` for a stack that is not statically known."""
LARGEST_FRAME = 1 << 20
"""In bytes; twice the maximum local memory of a thread. Larger frames are not laid out."""
_FIRST_SM, _FIRST_WIDE_SM = 50, 70
"""The first supported architecture, and the first with 16-byte instructions."""
_SHARED, _SPARE = 16, 1024
"""Average number of functions whose range may contain a site, and an allowance for few sites."""
_MARKING, _MOST_MARKS = (12, 6), 8192
"""The first toolkit whose ptxas marks spills, and the number of marks that exceeds a record."""
_RELEASE = re.compile(rb"Cuda compilation tools, release [\d.]+, V(\d{1,9}\.\d{1,9}\.\d{1,9})")
_ARCH_OPTION = re.compile(rb"-arch[ =](sm_\d+[af]?)")


class FunctionRecord(Struct, frozen=True):
    """A kernel or function as described by a cubin's tables, without its code.

    Attributes:
        name: mangled.
        kind: ``entry`` or ``function``.
        section: its code.
        symbol: its own.
        registers, stack_frame, min_stack, stack_known: as in `CubinFunction`.
    """

    name: str
    kind: KernelKind
    section: Section
    symbol: Symbol
    registers: int | None
    stack_frame: int | None
    min_stack: int | None
    stack_known: bool


class CubinFunction(Struct, frozen=True):
    """A body of code: a kernel's own, or a function that was not inlined into it.

    Attributes:
        name: mangled; for a function inside a kernel's section, without the ``$kernel$`` prefix.
        kind: ``entry`` or ``function``.
        section: name of the code section.
        start, end: byte offsets in the section; a kernel's own body is what no other function
            claims.
        registers, stack_frame: from ``.nv.info``; None without a record.
        min_stack: minimum stack in bytes per thread; None if not recorded or unknown.
        stack_known: False if the cubin says that the depth is not statically known.
        max_registers: register cap of the compilation, or None.
        shared_spills: number of marked instructions other than ``LDL``/``STL``: registers spilled
            to shared memory.
        sites: every ``LDL``/``STL`` of this body, in address order.
        callees: functions inside this kernel's section, in address order.
        stack_alignment: alignment of its stack pointer in bytes, if its objects need more than
            callers provide; None if unchanged.
        max_threads: maximum threads per block, from ``__launch_bounds__``; None without, or if the
            value is impossible.
        shared: static shared memory of a kernel in bytes; None if a linker lays it out.
        is_marked: whether ptxas has marked every spill in its section.
    """

    name: str
    kind: KernelKind
    section: str
    start: int
    end: int
    registers: int | None
    stack_frame: int | None
    min_stack: int | None
    stack_known: bool
    max_registers: int | None
    shared_spills: int
    sites: tuple[Site, ...]
    callees: tuple[CubinFunction, ...] = ()
    stack_alignment: int | None = None
    max_threads: int | None = None
    shared: int | None = None
    is_marked: bool = False

    @property
    def all_sites(self) -> tuple[Site, ...]:
        """Sites in the whole section: this body's and its callees'."""
        if not self.callees:
            return self.sites
        found = [*self.sites, *(site for callee in self.callees for site in callee.sites)]
        return tuple(sorted(found, key=attrgetter("pc")))

    def body_at(self, pc: int) -> CubinFunction:
        """The function whose code an instruction in the section is: a callee, or this one."""
        for callee in self.callees:
            if callee.start <= pc < callee.end:
                return callee
        return self


class Cubin:
    """A cubin; each function is decoded on first use.

    Attributes:
        elf: the file.
        arch: its architecture.
        is_wide: whether its instructions are 16 bytes.

    Raises:
        FormatError: not a cubin, truncated, or for an architecture with another instruction format.
    """

    def __init__(self, data: bytes | memoryview | ElfFile) -> None:
        self.elf = data if isinstance(data, ElfFile) else ElfFile(data)
        if self.elf.machine != _EM_CUDA:
            raise FormatError(
                "cubin",
                "the ELF file holds no CUDA machine code",
                hint="host objects carry device code inside; extract it with: cuobjdump -xelf all",
            )
        self.arch = architecture(self.elf)
        self._number = number_of(self.arch)
        self.is_wide = self._number >= _FIRST_WIDE_SM
        if self._number < _FIRST_SM:
            raise FormatError(
                "cubin",
                f"{self.arch} code is not supported: its instructions are encoded differently",
                hint=f"compile for sm_{_FIRST_SM} or newer",
            )
        self._calls: dict[str, Mapping[int, Sequence[int]]] = {}
        self._branches: dict[str, Branches | None] = {}
        self._functions: dict[str, CubinFunction] = {}

    @cached_property
    def records(self) -> Mapping[str, FunctionRecord]:
        """The table records of each code section, by function name, in section order."""
        found: dict[str, FunctionRecord] = {}
        for record in self._find_records():
            found.setdefault(record.name, record)
        return found

    @property
    def functions(self) -> tuple[CubinFunction, ...]:
        """All functions, in section order."""
        return tuple(map(self.function, self.records))

    def function(self, name: str) -> CubinFunction:
        """A function by its mangled name, decoded as needed for local memory.

        Raises:
            FormatError: functions inside its section overlap excessively.
        """
        if name not in self._functions:
            self._functions[name] = self._decode(self.records[name])
        return self._functions[name]

    def is_clean(self, record: FunctionRecord) -> bool:
        """Whether a function has no local memory: no ``LDL``/``STL``, no spills and no stack.

        The minimum stack includes callees; if it is unknown, the result is False.
        """
        return (
            not record.stack_frame
            and not record.min_stack
            and record.stack_known
            and not self._has_sites(self.elf.content(record.section))
            and not self._read_spills(record.name)
        )

    @cached_property
    def _marks_spills(self) -> bool:
        version = release(self.elf) if self.is_wide else None
        return version is not None and tuple(map(int, version.split("."))) >= _MARKING

    def _has_sites(self, code: memoryview) -> bool:
        if self.is_wide:
            return LOCAL_OPCODES.appear_in(code)
        return bool(find_bundled_sites(code, frozenset()))

    @cached_property
    def source_lines(self) -> dict[str, list[InlinedLine]]:
        """Source lines with inline chains, by code section (``-lineinfo``)."""
        return read_line_table(self.elf, ".debug_line")

    @cached_property
    def ptx_lines(self) -> dict[str, list[InlinedLine]]:
        """Lines of the PTX text for each instruction, by code section."""
        return read_line_table(self.elf, ".nv_debug_line_sass")

    def with_lines(
        self, source: dict[str, list[InlinedLine]], ptx: dict[str, list[InlinedLine]]
    ) -> Cubin:
        """The same code with other line tables, by code section."""
        made = Cubin(self.elf)
        made.source_lines, made.ptx_lines = source, ptx
        return made

    @property
    def ptx(self) -> bytes | None:
        """The PTX text in a cubin compiled with ``-lineinfo``."""
        for section in self.elf.sections:
            if section.name.startswith(".nv_debug_ptx_txt"):
                return bytes(self.elf.content(section)).replace(b"\0", b"\n")
        return None

    def names_meant(self, record: FunctionRecord) -> tuple[str, ...]:
        """Symbols that a function's code calls or takes the address of, in order, each once.

        Linked cubins keep these relocations, because the driver may load code anywhere.
        """
        found = self.elf.symbols_meant(record.section)
        return tuple(dict.fromkeys(symbol.name for symbol in found if symbol.name))

    def calls(self, kernel: CubinFunction) -> Mapping[int, Sequence[int]]:
        """Byte offsets of the calls in a kernel's section, by the callee's start offset."""
        if kernel.section not in self._calls:
            section = self.elf.section(kernel.section)
            starts = {callee.start for callee in kernel.callees}
            self._calls[kernel.section] = (
                find_calls(self.elf.content(section), starts, self._number)
                if section is not None and starts and self.is_wide
                else {}
            )
        return self._calls[kernel.section]

    def branches(self, function: CubinFunction) -> Branches | None:
        """Control-flow instructions in a function's section; None if unknown."""
        if function.section not in self._branches:
            section = self.elf.section(function.section) if self.is_wide else None
            content = self.elf.content(section) if section is not None else None
            found = find_branches(content, self._number) if content is not None else None
            self._branches[function.section] = found
        return self._branches[function.section]

    def code(self, function: CubinFunction) -> memoryview:
        """The bytes of a function's section."""
        section = self.elf.section(function.section)
        return self.elf.data[:0] if section is None else self.elf.content(section)

    def generic_sites(self, function: CubinFunction) -> tuple[Site, ...]:
        """Every ``LD``/``ST`` of a function's section, in address order."""
        section = self.elf.section(function.section) if self.is_wide else None
        return () if section is None else find_generic_sites(self.elf.content(section))

    def callers_barriers(self, body: CubinFunction) -> frozenset[int]:
        """Offsets of the sites by which a function saves its caller's barrier registers."""
        section = self.elf.section(body.section)
        if section is None or body.kind != "function" or not self.is_wide:
            return frozenset()
        return callers_barriers(self.elf.content(section), body.start, body.sites)

    def _find_records(self) -> Iterator[FunctionRecord]:
        info = self._read_global_info()
        for section in self.elf.sections:
            if not section.flags & SHF_EXECINSTR or not section.name.startswith(".text."):
                continue
            own = section.name.removeprefix(".text.")
            symbol = self.elf.function(section, own)
            if symbol is None:
                continue
            said = info.get(symbol.number, {})
            min_stack = said.get(MIN_STACK_SIZE)
            yield FunctionRecord(
                own,
                "entry" if symbol.other & ENTRY else "function",
                section,
                symbol,
                said.get(REGCOUNT),
                said.get(FRAME_SIZE),
                None if min_stack == UNKNOWN_STACK else min_stack,
                min_stack != UNKNOWN_STACK,
            )

    def _decode(self, record: FunctionRecord) -> CubinFunction:
        section, outer, own = record.section, record.symbol, record.name
        inside = self.elf.functions(section)
        info = info_records(self.elf, f".nv.info.{own}")
        spills = _spills_in(info)
        content = self.elf.content(section)
        find = find_sites if self.is_wide else find_bundled_sites
        sites = find(content, spills)
        alignments = find_stack_alignments(content) if self.is_wide else {}
        prefix = f"${own}$"
        callees = sorted(
            (s for s in inside if s.number != outer.number and _is_local_function(s)),
            key=lambda symbol: (symbol.value, symbol.name),
        )
        within = _within(sites, callees)
        bodies = tuple(
            CubinFunction(
                name=symbol.name.removeprefix(prefix),
                kind="function",
                section=section.name,
                start=symbol.value,
                end=min(symbol.value + symbol.size, len(content)),
                registers=None,
                stack_frame=None,
                min_stack=None,
                stack_known=True,
                max_registers=None,
                shared_spills=0,
                sites=own_sites,
                stack_alignment=next(
                    (n for pc, n in alignments.items() if 0 <= pc - symbol.value < symbol.size),
                    None,
                ),
            )
            for symbol, own_sites in zip(callees, within, strict=True)
        )
        claimed = {site.pc for body in bodies for site in body.sites}
        unclaimed = tuple(site for site in sites if site.pc not in claimed) if claimed else sites
        return CubinFunction(
            name=own,
            kind=record.kind,
            section=section.name,
            start=outer.value,
            end=min(outer.value + outer.size, len(content)),
            registers=record.registers,
            stack_frame=record.stack_frame,
            min_stack=record.min_stack,
            stack_known=record.stack_known,
            max_registers=_cap_in(info),
            max_threads=_max_threads_in(info),
            shared=self._read_shared(record),
            shared_spills=len(spills.difference(site.pc for site in sites)),
            sites=unclaimed,
            callees=bodies,
            stack_alignment=next(
                (n for pc, n in alignments.items() if not _claims(bodies, pc)), None
            ),
            is_marked=self._marks_spills
            and len(spills.union(site.pc for site in sites)) < _MOST_MARKS,
        )

    def _read_global_info(self) -> dict[int, dict[int, int]]:
        """``.nv.info``: per symbol index, value by attribute."""
        result: dict[int, dict[int, int]] = defaultdict(dict)
        for attribute, value in info_records(self.elf, ".nv.info"):
            if attribute in (REGCOUNT, FRAME_SIZE, MIN_STACK_SIZE) and len(value) == 8:
                symbol, number = struct.unpack("<II", value)
                result[symbol][attribute] = number
        return result

    def _read_spills(self, name: str) -> frozenset[int]:
        """``.nv.info.NAME``: offsets of instructions marked SpillRefill."""
        section = self.elf.section(f".nv.info.{name}")
        # Called for each function, and most have no annotations.
        if section is None or _ANNOTATED not in bytes(self.elf.content(section)):
            return frozenset()
        return _spills_in(info_records(self.elf, section.name))

    def _read_shared(self, record: FunctionRecord) -> int | None:
        """The size of ``.nv.shared.NAME``, without what the system reserves from sm_90 on."""
        if record.kind != "entry" or self.elf.is_relocatable:
            return None
        section = self.elf.section(f".nv.shared.{record.name}")
        size = section.size if section is not None else 0
        size -= _RESERVED if size and self._number >= _RESERVED_FROM else 0
        return size if 0 <= size <= _LARGEST_SHARED else None


def _spills_in(info: Sequence[tuple[int, bytes]]) -> frozenset[int]:
    """Of ``.nv.info.NAME``: offsets of instructions marked SpillRefill."""
    spills: list[int] = []
    for attribute, value in info:
        if attribute == _ANNOTATIONS:
            pairs = struct.iter_unpack("<II", value[: len(value) // 8 * 8])
            spills += [offset for kind, offset in pairs if kind == _SPILL_REFILL]
    return frozenset(spills)


def _cap_in(info: Sequence[tuple[int, bytes]]) -> int | None:
    """Of ``.nv.info.NAME``: the register cap."""
    found = [value for attribute, value in info if attribute == _MAXREG_COUNT and len(value) == 2]
    return int.from_bytes(found[-1], "little") if found else None


def _max_threads_in(info: Sequence[tuple[int, bytes]]) -> int | None:
    """Of ``.nv.info.NAME``: the product of a block's dimensions, as a limit or a requirement."""
    found = [
        math.prod(struct.unpack("<III", value))
        for attribute, value in info
        if attribute in (_MAX_THREADS, _REQUIRED_THREADS) and len(value) == _DIMENSIONS
    ]
    return found[0] if found and 0 < found[0] <= _LARGEST_BLOCK else None


def _is_local_function(symbol: Symbol) -> bool:
    return symbol.binding == STB_LOCAL and bool(symbol.size)


def _claims(bodies: tuple[CubinFunction, ...], pc: int) -> bool:
    """Whether an offset in a kernel's section is in one of its functions."""
    return any(body.start <= pc < body.end for body in bodies)


def _within(sites: Sequence[Site], symbols: Sequence[Symbol]) -> list[tuple[Site, ...]]:
    """The sites in each function's range.

    Raises:
        FormatError: most functions are nested in each other, which no compiler does.
    """
    places = [site.pc for site in sites]
    found = []
    left = _SHARED * len(sites) + _SPARE
    for symbol in symbols:
        begin = bisect_left(places, symbol.value)
        end = bisect_left(places, symbol.value + symbol.size)
        left -= end - begin
        if left < 0:
            raise FormatError("cubin", "the functions of the cubin overlap")
        found.append(tuple(sites[begin:end]))
    return found


def info_records(elf: ElfFile, name: str) -> list[tuple[int, bytes]]:
    """Attribute and value of each record: u8 format, u8 attribute, u16 size or value."""
    section = elf.section(name)
    if section is None:
        return []
    content, position, result = bytes(elf.content(section)), 4, []
    while position <= len(content):
        form, attribute, size = _INFO_RECORD.unpack_from(content, position - 4)
        if form == _FORMAT_SIZED:
            result.append((attribute, content[position : position + size]))
            position += size
        else:
            result.append((attribute, content[position - 2 : position]))
        position += 4
    return result


def number_of(arch: str) -> int:
    """``90`` of ``sm_90a``."""
    return int(re.sub(r"\D", "", arch))


def release(elf: ElfFile) -> str | None:
    """The toolkit version from ptxas's note; None without one."""
    note = elf.section(".note.nv.tkinfo")
    match = _RELEASE.search(bytes(elf.content(note))) if note is not None else None
    return match.group(1).decode() if match is not None else None


def architecture(elf: ElfFile) -> str:
    """The architecture from the ELF flags; the suffix (``sm_90a``) only from ptxas's note."""
    # Since ABI version 8 (CUDA 13) the SM number is in bits 8 to 15, before in bits 0 to 7.
    number = elf.flags >> 8 & 0xFF if elf.abi_version >= 8 else elf.flags & 0xFF
    plain = f"sm_{number}"
    note = elf.section(".note.nv.tkinfo")
    match = _ARCH_OPTION.search(bytes(elf.content(note))) if note is not None else None
    if match is not None and match.group(1).decode().rstrip("af") == plain:
        return match.group(1).decode()
    return plain
