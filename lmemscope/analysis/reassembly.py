"""The lines of a cubin, found in what the installed ptxas makes of the PTX beside it.

A cubin without ``-lineinfo`` does not say which PTX line an instruction comes from. Assembled
again, with line information, the same PTX does. Where the machine code has the same opcodes at the
same places, it has the same lines. Code of another version of ptxas has its instructions in other
places: there each access takes the line of the one that moves the same bytes of the frame, in the
same order. Whether registers, frame and accesses are all equal decides how far that can be trusted.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from lmemscope.formats.cubin import Cubin, CubinFunction, number_of
from lmemscope.formats.instructions import INSTRUCTION_BYTES, are_alike
from lmemscope.formats.line_table import InlinedLine, line_at
from lmemscope.formats.sites import STACK_POINTER, Site
from lmemscope.model import (
    Disagreement,
    DisagreementReason,
    InlineFrame,
    SiteClass,
    SourceLocation,
)

_Table: TypeAlias = list[InlinedLine]
_Moves: TypeAlias = tuple[str, bool, bool, int, int | None, int]
"""Which bytes an access moves: function, generic or not, direction, width, base, displacement."""
_NO_LINE = (InlineFrame.at(SourceLocation("", 0), None),)


@dataclass(frozen=True, slots=True)
class Reassembly:
    """A cubin beside what ptxas makes of its PTX now.

    Attributes:
        lines, ptx_lines: source and PTX lines of the cubin's instructions, by code section.
        differences: by mangled name, how the two differ; of kernels that do.
    """

    lines: dict[str, _Table] = field(default_factory=dict)
    ptx_lines: dict[str, _Table] = field(default_factory=dict)
    differences: dict[str, tuple[Disagreement, ...]] = field(default_factory=dict)


def reassembly(cubin: Cubin, again: Cubin, target: int | None = None) -> Reassembly:
    """Compare the kernels that both have.

    Args:
        cubin: as it was found.
        again: with line tables.
        target: number of the architecture that the PTX was written for, or None.
    """
    found = Reassembly()
    number = number_of(cubin.arch)
    newer: list[Disagreement] = []
    if target is not None and target > number:
        # It was not assembled for this cubin, whatever comes of it.
        newer = [_disagreement("target", number, target, "other-target")]
    for name in again.records:
        if name not in cubin.records:
            continue
        function, other = cubin.function(name), again.function(name)
        section, differences = function.section, newer
        lines, ptx_lines = (t.get(section, []) for t in (again.source_lines, again.ptx_lines))
        if cubin.code(function) != again.code(other):
            pairs = _pairs(_sites(cubin, function), _sites(again, other))
            is_alike = are_alike(cubin.code(function), again.code(other))
            if not is_alike or function.all_sites != other.all_sites:
                lines, ptx_lines = _moved(lines, pairs), _moved(ptx_lines, pairs)
            differences = [*newer, *_differences(function, other, pairs)]
        found.lines[section], found.ptx_lines[section] = lines, ptx_lines
        if differences:
            found.differences[function.name] = tuple(differences)
    return found


def _sites(cubin: Cubin, function: CubinFunction) -> Mapping[_Moves, Sequence[Site]]:
    """The accesses of a section by what they move, in address order."""
    found: dict[_Moves, list[Site]] = defaultdict(list)
    for site in (*function.all_sites, *cubin.generic_sites(function)):
        body = function.body_at(site.pc)
        # Which register holds an address is the allocator's choice.
        is_stack = site.base == STACK_POINTER and site.uniform_base is None
        base = STACK_POINTER if is_stack else None
        moves = (body.name, site.is_generic, site.is_store, site.width, base, site.displacement)
        found[moves].append(site)
    return found


def _pairs(
    mine: Mapping[_Moves, Sequence[Site]], others: Mapping[_Moves, Sequence[Site]]
) -> list[tuple[Site, Site]]:
    """Accesses that move the same, one by one; none where one of the two has more of them."""
    return sorted(
        (
            pair
            for moves, sites in mine.items()
            if len(sites) == len(others.get(moves, ()))
            for pair in zip(sites, others[moves], strict=True)
        ),
        key=lambda pair: pair[0].pc,
    )


def _moved(table: _Table, pairs: Sequence[tuple[Site, Site]]) -> _Table:
    """Lines of accesses alone, at the places that these have in the cubin."""
    found: dict[int, InlinedLine] = {}
    for mine, other in pairs:
        entry = line_at(table, other.pc)
        if entry is not None:
            found[mine.pc] = InlinedLine(mine.pc, entry.chain)
            behind = mine.pc + INSTRUCTION_BYTES
            found.setdefault(behind, InlinedLine(behind, _NO_LINE))
    return [found[pc] for pc in sorted(found)]


def _differences(
    function: CubinFunction, other: CubinFunction, pairs: Sequence[tuple[Site, Site]]
) -> Iterator[Disagreement]:
    mine, others = SiteClass.of(function.all_sites), SiteClass.of(other.all_sites)
    values = {
        "registers": (function.registers, other.registers),
        "stack_frame": (function.stack_frame, other.stack_frame),
        "minimum_stack": (function.min_stack, other.min_stack),
        "LDL": (mine.load_sites, others.load_sites),
        "STL": (mine.store_sites, others.store_sites),
    }
    for quantity, (own, made) in values.items():
        if own != made and own is not None and made is not None:
            yield _disagreement(quantity, own, made)
    paired = sum(not site.is_generic for site, _ in pairs)
    if mine.count == others.count != paired:
        yield _disagreement("equal LDL and STL", mine.count, paired)


def _disagreement(
    quantity: str, own: int, made: int, reason: DisagreementReason = "other-ptxas"
) -> Disagreement:
    return Disagreement(quantity, {"cubin": own, "PTX": made}, reason)
