"""Calls of sine, cosine and tangent on findings' lines, and functions of half turns for them."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lmemscope.model import Edit, Rewriting, SourceLocation, calling_line
from lmemscope.rewrites.arrays import is_for_device
from lmemscope.rewrites.base import DeclinedError, Hit, Target
from lmemscope.rewrites.multiples_of_pi import without_pi
from lmemscope.rewrites.written import in_file, is_own
from lmemscope.rules.math_slow_path import is_float_path
from lmemscope.sources.syntax import FUNCTIONS, outermost, walk

if TYPE_CHECKING:
    from tree_sitter import Node

CALLED = re.compile(rb"(?<!\w)(?:std::|::)?(?P<name>sincos|sin|cos|tan)(?P<float>f?)(?!\w)")
TURNS = (
    "results differ by what rounding does to the arguments, more the larger these are, and as the "
    "pi that is written differs from pi"
)
"""What functions of half turns change."""
_REASONS = 2
"""Lines of which is said why nothing is edited there."""


@dataclass(frozen=True, slots=True)
class Call:
    """A call on a finding's line.

    Attributes:
        target: with the file to edit that the call is in.
        node: the call.
        name: of the function, without `f`.
        argument: the first.
        is_float: whether its argument is a float, as far as the findings tell.
        place: its line.
    """

    target: Target
    node: Node
    name: str
    argument: Node
    is_float: bool | None
    place: SourceLocation


def calls_of(target: Target) -> list[Call]:
    """The calls on the findings' lines, in whichever files of the user's these are.

    A line that shows none, as where another function of the library's makes the call, is left: what
    is gained by the others, compiling them tells.

    Raises:
        DeclinedError: none of the lines shows such a call in a file that may be edited.
    """
    kinds: dict[SourceLocation, set[bool | None]] = {}
    for hit in target.hits:
        for place in _places(hit):
            kinds.setdefault(place, set()).add(is_float_path(hit.case))
    found: list[Call] = []
    reasons: list[str] = []
    for place, kind in sorted(kinds.items()):
        here = in_file(target, place.file)
        where = f"line {place.line} of {os.path.basename(place.file)}"
        if here is None:
            reasons.append(f"{where} is in a file that is not edited")
            continue
        if here is not target and not _is_for_device(here, place.line):
            reasons.append(f"the host's compiler may read {where}, too")
            continue
        own = [
            call
            for node in here.syntax.on_line(place.line)
            if (call := _call(here, node, kind, place)) is not None
        ]
        if not own:
            reasons.append(
                f"{where} calls no `sin`, `cos`, `tan` or `sincos` that is certainly the library's"
            )
        found += own
    if not found and reasons:
        raise DeclinedError("; ".join(reasons[:_REASONS]))
    return found


def beside(own: list[Call]) -> list[Call]:
    """The calls of such functions in the functions that some are in, of the same type as these."""
    kinds = {call.is_float for call in own}
    functions: dict[tuple[str, int], tuple[Call, Node]] = {}
    for call in own:
        function = outermost(call.node, FUNCTIONS)
        if function is not None:
            functions.setdefault((call.target.path, function.start_byte), (call, function))
    if len(kinds) != 1 or any(function.has_error for _, function in functions.values()):
        return own
    # A call without its letter is of floats only where the findings say so.
    beside: set[bool | None] = {None} if kinds == {True} else kinds
    found: list[Call] = []
    for call, function in functions.values():
        for node in walk(function):
            place = SourceLocation(call.place.file, node.start_point.row + 1)
            is_own = any(node == one.node for one in own)
            made = _call(call.target, node, kinds if is_own else beside, place)
            if made is not None and {made.is_float} == kinds:
                found.append(made)
    return found


def half_turns(call: Call) -> tuple[Edit, ...] | None:
    """The function of half turns, where the argument is visibly pi times something."""
    target = call.target
    if call.name == "tan" or call.is_float is None:
        return None
    text = target.syntax.text(call.argument).decode(errors="replace")
    if "\n" in text or "//" in text or "/*" in text or CALLED.search(text.encode()):
        return None  # A call of its own in it is changed on its own.
    factor = without_pi(text, target.hits[0].case.sources, call.place)
    if factor is None or factor.code is None:
        return None
    called = call.node.child_by_field_name("function")
    assert called is not None
    suffix = "f" if target.syntax.text(called).endswith(b"f") else ""
    code = factor.code if suffix or not call.is_float else factor.code_of_float
    assert code is not None
    return (
        target.edit(called.start_byte, called.end_byte, f"{call.name}pi{suffix}".encode()),
        target.edit(call.argument.start_byte, call.argument.end_byte, code.encode()),
    )


def rewriting(
    name: str, edits: list[tuple[Edit, ...]], summary: str, caveats: list[str]
) -> Rewriting:
    """All of some calls' edits as one; none of what such functions change is safe."""
    every = tuple(sorted({edit for one in edits for edit in one}))
    return Rewriting(name, "unsafe", every, summary, "; ".join(caveats))


def _is_for_device(here: Target, line: int) -> bool:
    """Whether a line is compiled by CUDA alone: in a source, or in functions that say so."""
    return here.path.endswith(".cu") or all(
        is_for_device(one, here.syntax) for one in here.syntax.functions_at(line)
    )


def _places(hit: Hit) -> set[SourceLocation]:
    found = {calling_line(one.chain) for one in (*hit.case.accesses, *hit.case.generic)}
    # One function of the library's may serve calls in many functions of the program.
    called = hit.case.object.called_from if hit.case.object is not None else ()
    return {place for place in (hit.finding.location, *found, *called) if place is not None}


def _call(
    target: Target, node: Node, kinds: set[bool | None], place: SourceLocation
) -> Call | None:
    if node.type != "call_expression":
        return None
    called = node.child_by_field_name("function")
    given = node.child_by_field_name("arguments")
    said = None if called is None else CALLED.fullmatch(target.syntax.text(called))
    inside = [] if given is None else [one for one in given.named_children if one.type != "comment"]
    if said is None or not inside or node.has_error:
        return None
    if called is not None and is_own(called, target):
        return None
    is_float = True if said["float"] else (next(iter(kinds)) if len(kinds) == 1 else None)
    return Call(target, node, said["name"].decode(), inside[0], is_float, place)
