"""The source line of a loop: that of its ``for``, ``while`` or ``do``."""

from __future__ import annotations

import re
from collections.abc import Iterator

from lmemscope.analysis.lines import Chain, Lines
from lmemscope.analysis.ptx.graph import Loop
from lmemscope.analysis.ptx.objects import FunctionObjects
from lmemscope.formats.ptx import PtxModule
from lmemscope.formats.ptx_operands import registers_of
from lmemscope.model import SourceLocation, SourceText, reader_line

_REACH = 100
"""Lines above one in the body of a loop on which the loop's own is looked for."""
_HEADER = re.compile(r"(?!.*\b(?:if|else|switch)\b).*\)\s*\{?\s*$")
"""A macro that stands before a statement, as those do that make a loop."""
_KEYWORD = re.compile(r"\b(?:for|while|do)\b")


def loop_line(
    ptx: PtxModule, lines: Lines, sources: SourceText, objects: FunctionObjects, header: int
) -> SourceLocation | None:
    """Where a loop stands, or None where line information does not tell.

    The branch back to the header, and the comparison before it, belong to the loop's own line; the
    first instruction of the body belongs to a statement inside it, often to an inlined function's.
    Where they are a statement's too, as conditions that are combined are, the text tells.

    Args:
        ptx: the module.
        lines: of the unit.
        sources: the user's files.
        objects: of the function that holds the loop.
        header: index of the loop's first instruction.
    """
    loop = next((one for one in objects.dataflow.flow.loops if one.header == header), None)
    if loop is None:
        return None
    chains = [ptx.chain(objects.body.instructions[index]) for index in _telling(objects, loop)]
    for chain in chains:
        for frame in chain:
            place = frame.location
            if place.line > 0 and _KEYWORD.search(sources.line(place.file, place.line)):
                return lines.shown(place)
    found = next((found for chain in chains if (found := _own(chain)) is not None), None)
    if found is None:
        return None
    if not _HEADER.match(sources.line(found.file, found.line)):
        found = _around(sources, found) or found
    return lines.shown(found)


def _around(sources: SourceText, place: SourceLocation) -> SourceLocation | None:
    """The line of the loop whose body a line stands in, by the text; None where none is near."""
    depth, is_next = 0, True
    for number in range(place.line - 1, max(place.line - _REACH, 0), -1):
        text = sources.line(place.file, number).strip()
        code = sources.code_line(place.file, number)
        depth += code.count("}") - code.count("{")
        governs = depth < 0 or (is_next and text.endswith(")"))
        if governs and _KEYWORD.search(text):
            return SourceLocation(place.file, number)
        depth = max(depth, 0)
        is_next = is_next and not text
    return None


def _own(chain: Chain) -> SourceLocation | None:
    return reader_line(chain, chain[0].location.file) if chain else None


def _telling(objects: FunctionObjects, loop: Loop) -> Iterator[int]:
    """The branches back, what they compare, and the first instruction at last."""
    definitions = objects.dataflow.definitions
    instructions = objects.body.instructions
    yield from loop.latches
    for latch in loop.latches:
        predicate = instructions[latch].predicate
        for register in registers_of(predicate) if predicate is not None else ():
            yield from (index for index in definitions.get(register, ()) if index in loop.members)
    yield loop.header
