"""Read the call graph of a linked image from the ELF sections that nvlink itself uses.

NVIDIA documents none of these. They were read off objects that hold one call of each kind, and are
held to ``nvlink -dump-callgraph`` on whole programs by benchmarks/linked.py (docs/linked.md):

- ``.nv.callgraph``: pairs of 32-bit numbers. A first number 0 with a second one from 0xffffffff
  down begins a list. List 1: caller and callee, both symbols. List 2: a function whose address is
  taken, and its signature. List 3: a caller through a pointer, and the signature that it calls.
  List 4: a function, and a function whose address it holds. A signature is an offset in the table
  of strings: result and parameters by size, such as ``#ili``, and behind a ``|`` the ABI where it
  is another than usual.
- ``.nv.info``: registers, frame and deepest stack by symbol, as in `lmemscope.formats.cubin`.
- ``.rela.*``: a place in data that refers to a function belongs to the variable there, such as a
  table of pointers or the ``_ZTV`` of a class.
"""

from __future__ import annotations

import struct
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from lmemscope.errors import FormatError
from lmemscope.formats.cubin import (
    ENTRY,
    FRAME_SIZE,
    MIN_STACK_SIZE,
    REGCOUNT,
    UNKNOWN_STACK,
    info_records,
)
from lmemscope.formats.elf import (
    SHF_EXECINSTR,
    SHT_RELA,
    SHT_SYMTAB,
    STB_LOCAL,
    STT_FUNC,
    ElfFile,
    Strings,
)
from lmemscope.formats.sites import find_sites

_EM_CUDA = 190
_PAIR = struct.Struct("<II")
_DIRECT, _TAKEN, _THROUGH, _HOLDS = 0xFFFFFFFF, 0xFFFFFFFE, 0xFFFFFFFD, 0xFFFFFFFC
_FIRST_MARK = 0xFFFFFFF0
_STT_OBJECTS = frozenset({1, 13})
"""STT_OBJECT, and NVIDIA's own type for variables in objects."""
_OTHER_DATA = (".debug", ".nv_debug", ".nv.info", ".nv.callgraph")


@dataclass(frozen=True, slots=True)
class ImageFunction:
    """A function in an image or object.

    Attributes:
        index: of its symbol; static functions may share a name.
        name: mangled.
        is_entry: whether it is a kernel.
        is_local: whether it is static in its file, so that others may have the same name.
        is_defined: whether its code is present.
        registers, stack_frame: as recorded; None without a record.
        min_stack: bytes per thread of the deepest path; None if not recorded or unknown.
        stack_known: False where the image says that it is not statically known.
        load_sites, store_sites: ``LDL`` and ``STL`` of its section.
    """

    index: int
    name: str
    is_entry: bool
    is_local: bool
    is_defined: bool
    registers: int | None
    stack_frame: int | None
    min_stack: int | None
    stack_known: bool
    load_sites: int
    store_sites: int


@dataclass(frozen=True, slots=True)
class ImageCalls:
    """The call graph, by symbol indices.

    Attributes:
        direct: caller and callee, each pair once.
        through: the calling function, and the signature of its calls through pointers.
        taken: functions whose address is taken, with their signature.
        holders: mangled names of variables and functions that hold a function's address.
    """

    direct: tuple[tuple[int, int], ...] = ()
    through: tuple[tuple[int, str], ...] = ()
    taken: tuple[tuple[int, str], ...] = ()
    holders: dict[int, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LinkedImage:
    """Functions by symbol index, and their calls."""

    functions: dict[int, ImageFunction]
    calls: ImageCalls


def read_image(data: bytes) -> LinkedImage:
    """Read a linked image, or an object that is to be linked.

    Raises:
        FormatError: not a cubin, or damaged.
    """
    elf = ElfFile(data)
    if elf.machine != _EM_CUDA:
        raise FormatError("link", "the ELF file holds no CUDA machine code")
    return LinkedImage(_functions(elf), _calls(elf))


def _functions(elf: ElfFile) -> dict[int, ImageFunction]:
    recorded: defaultdict[int, dict[int, int]] = defaultdict(dict)
    for attribute, value in info_records(elf, ".nv.info"):
        if attribute in (REGCOUNT, FRAME_SIZE, MIN_STACK_SIZE) and len(value) == _PAIR.size:
            symbol, number = _PAIR.unpack(value)
            recorded[symbol][attribute] = number
    found: dict[int, ImageFunction] = {}
    called = {index for pair in _listed(elf, _DIRECT) for index in pair}
    for symbol in elf.symbols:
        code = elf.sections[symbol.section] if 0 < symbol.section < len(elf.sections) else None
        defined = code is not None and bool(code.flags & SHF_EXECINSTR)
        # Inside a section are subroutines of its function, which its figures already include.
        whole = defined and code is not None and code.name == f".text.{symbol.name}"
        if symbol.type != STT_FUNC or not (whole or (not defined and symbol.number in called)):
            continue
        info = recorded.get(symbol.number, {})
        least = info.get(MIN_STACK_SIZE)
        sites = find_sites(elf.content(code), frozenset()) if whole and code is not None else ()
        found[symbol.number] = ImageFunction(
            index=symbol.number,
            name=symbol.name,
            is_entry=bool(symbol.other & ENTRY),
            is_local=symbol.binding == STB_LOCAL,
            is_defined=whole,
            registers=info.get(REGCOUNT),
            stack_frame=info.get(FRAME_SIZE),
            min_stack=None if least == UNKNOWN_STACK else least,
            stack_known=least != UNKNOWN_STACK,
            load_sites=sum(not site.is_store for site in sites),
            store_sites=sum(site.is_store for site in sites),
        )
    return found


def _calls(elf: ElfFile) -> ImageCalls:
    table = next((section for section in elf.sections if section.type == SHT_SYMTAB), None)
    if table is None or table.link >= len(elf.sections):
        return ImageCalls()
    strings = Strings(bytes(elf.content(elf.sections[table.link])))
    return ImageCalls(
        direct=tuple(dict.fromkeys(_listed(elf, _DIRECT))),
        through=tuple(dict.fromkeys((a, strings.at(b)) for a, b in _listed(elf, _THROUGH))),
        taken=tuple(dict.fromkeys((a, strings.at(b)) for a, b in _listed(elf, _TAKEN))),
        holders={index: tuple(sorted(names)) for index, names in _holders(elf).items()},
    )


def _listed(elf: ElfFile, wanted: int) -> Iterator[tuple[int, int]]:
    """The pairs in one of the call graph's lists."""
    section = elf.section(".nv.callgraph")
    content = elf.content(section) if section is not None else memoryview(b"")
    current = 0
    for first, second in _PAIR.iter_unpack(content[: len(content) // 8 * 8]):
        if first == 0 and second >= _FIRST_MARK:
            current = second
        elif current == wanted:
            if first >= len(elf.symbols) or (
                wanted in (_DIRECT, _HOLDS) and second >= len(elf.symbols)
            ):
                raise FormatError("link", "the call graph names a symbol that there is not")
            yield first, second


def _holders(elf: ElfFile) -> dict[int, set[str]]:
    """The variables and functions that hold each function's address."""
    found: defaultdict[int, set[str]] = defaultdict(set)
    objects: defaultdict[int, list[tuple[int, int, str]]] = defaultdict(list)
    for one in elf.symbols:
        if one.type in _STT_OBJECTS and one.size:
            objects[one.section].append((one.value, one.value + one.size, one.name))
    tables = (one for one in elf.sections if one.type == SHT_RELA)
    for index in dict.fromkeys(one.info for one in tables if 0 < one.info < len(elf.sections)):
        place = elf.sections[index]
        if place.flags & SHF_EXECINSTR or place.name.startswith(_OTHER_DATA):
            continue
        variables = sorted(objects[index])
        starts = [start for start, _, _ in variables]
        for offset, symbol in elf.relocations(place).items():
            at = bisect_right(starts, offset) - 1
            if symbol.type == STT_FUNC and at >= 0 and offset < variables[at][1]:
                found[symbol.number].add(variables[at][2])
    for holder, function in _listed(elf, _HOLDS):
        # If a function holds it through a variable, the variable is the one to name.
        if function not in found:
            found[function].add(elf.symbols[holder].name)
    return dict(found)
