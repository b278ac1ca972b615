"""Addresses that were needed while the compiler still chose, and are no more in what it wrote.

Scalar replacement runs before most simplifications: an object whose address is compared, or is kept
in a pointer that only some paths set, stays in memory then. Later the comparison is folded and the
pointer replaced by the object, so that PTX shows nothing but accesses at constant places, or the
comparison alone. The source still shows it. Established by experiment: without the comparison, or
with the pointer set where it is declared, the same kernels have no stack frame. So it is with a
number whose address the source gives to a function, if that copies from there as many bytes as are
known at run time only.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from lmemscope.analysis.causes import ProvenCause
from lmemscope.analysis.lines import Lines
from lmemscope.analysis.names import Names, ObjectName
from lmemscope.analysis.ptx.objects import FunctionObjects, StackObject
from lmemscope.model import (
    Evidence,
    InlineFrame,
    SourceLocation,
    SourceText,
    Variable,
    calling_line,
    is_library,
)

_ITSELF = re.compile(
    r"\bthis\s*[!=]=\s*(?:&|(?:std\s*::\s*)?addressof\b)"
    r"|(?:&\s*\w+|addressof\s*\(\s*\w+\s*\))\s*[!=]=\s*this\b"
)
_ASSIGNMENT = re.compile(r"\boperator\s*=(?!=)")
_CHOOSES = re.compile(r"\b(?:if|else|case|for|while)\b")
_REACH = 400
"""Lines behind a declaration on which its address may be given to a function."""
_LONGEST = 12
"""Lines between the head of an assignment operator and what it stores, at most."""


_Kept = tuple[ProvenCause, SourceLocation]
"""What needed an address, and the line that shows it."""


def compared_address(
    lines: Lines, sources: SourceText, objects: FunctionObjects, found: StackObject
) -> _Kept | None:
    """What compares the address of an object, whether or not it has a name.

    Args:
        lines: of the unit.
        sources: the user's files.
        objects: of the function that owns the object.
        found: the object.

    Returns:
        The cause with its evidence, and the line: of an assignment operator's comparison, though
        PTX has none any more, or of one that PTX has; None where there is neither.
    """
    instructions = objects.body.instructions
    left = objects.comparisons(found)
    for index in (*left, *(one.index for one in found.accesses)):
        compared = _comparison(sources, lines.of_instruction(instructions[index]))
        if compared is not None:
            return ProvenCause("address-taken", (Evidence("compared-address"),)), compared
    for index in left:
        one, chain = instructions[index], lines.of_instruction(instructions[index])
        place = calling_line(chain)
        if place is not None:
            inner = chain[0]
            subject = inner.function if is_library(inner.location.file) else None
            shown = Evidence("address-compared", subject, ptx_line=one.line, opcode=one.opcode)
            return ProvenCause("address-taken", (shown,)), place
    return None


def kept_address(
    lines: Lines, names: Names, sources: SourceText, found: StackObject, named: ObjectName
) -> _Kept | None:
    """What the source says of the address of an object that nothing in PTX keeps in memory.

    Args:
        lines: of the unit.
        names: of its variables.
        sources: the user's files.
        found: the object.
        named: its name.

    Returns:
        The cause with its evidence, and the line that shows it; None where the source shows none.
    """
    variable = named.variable
    for pointer, place in names.aliases.set_to(variable):
        if _is_set_on_some_paths(sources, pointer, place):
            evidence = Evidence("set-pointer", pointer.name)
            return ProvenCause("address-taken", (evidence,)), lines.shown(place)
    handed = _handed(names, sources, found, named)
    if handed is not None:
        callee, place = handed
        evidence = Evidence("source-address", callee)
        return ProvenCause("address-taken", (evidence,)), lines.shown(place)
    return None


def _is_set_on_some_paths(sources: SourceText, pointer: Variable, place: SourceLocation) -> bool:
    """Whether a pointer is set in a block, or under a condition, that its declaration is not in."""
    lines = (sources.code_line(place.file, number) for number in range(pointer.line, place.line))
    text = "\n".join(lines)
    last = sources.line(place.file, place.line)
    return text.count("{") > text.count("}") or _CHOOSES.search(last) is not None


def _handed(
    names: Names, sources: SourceText, found: StackObject, named: ObjectName
) -> tuple[str, SourceLocation] | None:
    """The function that the source gives the address of a number to, and the line.

    Where nothing but stores is left of it: what has read it by that address, as a copy of a length
    that is only known at run time, got the value in the end.
    """
    variable = named.variable
    is_number = not variable.members and "[" not in variable.type and not named.path
    if not is_number or not found.accesses or not all(one.is_store for one in found.accesses):
        return None
    given = re.compile(
        rf"\b([A-Za-z_]\w*)\s*\((?:[^();]*,)?\s*(?:\([\w\s*]*\)\s*)?&\s*{re.escape(variable.name)}\s*[,)]"
    )
    last = names.scopes.last(variable) or variable.line + _REACH
    for number in range(variable.line, min(last, variable.line + _REACH) + 1):
        called = given.search(sources.line(variable.file, number))
        if called is not None:
            return called[1], SourceLocation(variable.file, number)
    return None


def _comparison(sources: SourceText, chain: Iterable[InlineFrame]) -> SourceLocation | None:
    """The line of an assignment operator on which it asks whether it is given its own object."""
    for frame in chain:
        place, tested = frame.location, None
        for number in range(place.line, max(place.line - _LONGEST, 0), -1):
            text = sources.line(place.file, number)
            if _ITSELF.search(text):
                tested = SourceLocation(place.file, number)
            if _ASSIGNMENT.search(text):
                if tested is not None:
                    return tested
                break
    return None
