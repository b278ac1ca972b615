"""Loops around the uses of an array: their counters, and the pragma before them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from lmemscope.model import Edit, SourceLocation
from lmemscope.rewrites.base import DeclinedError, Target
from lmemscope.rewrites.written import before, is_continued, is_here, lines_of
from lmemscope.rules.constants import number_of
from lmemscope.sources.syntax import (
    FUNCTIONS,
    Syntax,
    around,
    changed,
    first_named,
    outermost,
    walk,
)

if TYPE_CHECKING:
    from tree_sitter import Node

LOOPS = ("for_statement", "while_statement", "do_statement")
PRAGMA = re.compile(rb"#[ \t]*pragma[ \t]+(?:no)?unroll\b(?:(?!//|/\*)[^\r\n])*")
"""A pragma that says how often to unroll a loop: a comment to the grammar."""
_OPERATOR = re.compile(rb'_Pragma\s*\(\s*"\s*(?:no)?unroll\b[^"]*"\s*\)')
_BRANCHES = frozenset({"preproc_if", "preproc_ifdef", "preproc_elif", "preproc_else"})
_DEVICES = re.compile(
    rb"#[ \t]*if(?:def[ \t]+|[ \t]+defined[ \t]*\(?[ \t]*)__(?:CUDACC|CUDA_ARCH|NVCC)__\)?"
)
"""A condition that holds where device code is compiled."""
_PLAIN = re.compile(rb'(?:#[ \t]*pragma[ \t]+unroll\s*|_Pragma\s*\(\s*"\s*unroll\s*"\s*\))')
_KEPT = re.compile(rb"nounroll|unroll\s*(?:1|\(\s*1\s*\))\s*(?:\"|$)")
_LOOPING = re.compile(rb"\b(?:for|while|do)\b")
_NUMBER = re.compile(rb"[A-Z_][A-Z0-9_]*|\d+[uUlL]*")


def unroll_edit(target: Target, loop: Node) -> Edit | None:
    """The edit that has a loop unrolled; None where it says so already, or cannot."""
    syntax = target.syntax
    said = _said(loop, target)
    if said is None:
        return before(target, loop, b"#pragma unroll")
    start, end = said.span
    text = syntax.data[start:end]
    if said.may_be_left_out or _PLAIN.fullmatch(text) is not None:
        return None
    if is_continued(target, syntax.line_start(start)):
        return None
    plain = b"#pragma unroll" if text.startswith(b"#") else b'_Pragma("unroll")'
    return target.edit(start, end, plain)


def why_as_it_is(target: Target, loop: Node, path: str) -> str:
    """Why `unroll_edit` leaves a loop as it is, for a reader of a file."""
    said = _said(loop, target)
    where = f"on line {loop.start_point.row + 1}"
    if target.path != path:
        where = f"in `{os.path.basename(target.path)}`"
    if said is not None and said.may_be_left_out:
        return f"the pragma before the loop {where} stands between `#if` and `#endif`"
    if said is not None and _PLAIN.fullmatch(target.syntax.data[slice(*said.span)]) is not None:
        return f"the loop {where} has `unroll` before it already"
    return f"no pragma can stand before the loop {where}"


def partly_unrolled(target: Target, loop: Node, times: int) -> Edit | None:
    """The edit that has a loop unrolled a number of times; None where something is said already."""
    if _said(loop, target) is not None:
        return None
    return before(target, loop, b"#pragma unroll %d" % times)


def kept_rolled(target: Target, loop: Node) -> Edit | None:
    """The edit that keeps a loop from being unrolled, whatever a pragma says; None of no change."""
    said = _said(loop, target)
    if said is None:
        return before(target, loop, b"#pragma unroll 1")
    start, end = said.span
    text = target.syntax.data[start:end]
    if said.may_be_left_out or _KEPT.search(text.rstrip()) is not None or text.endswith(b"\\"):
        return None
    if is_continued(target, target.syntax.line_start(start)):
        return None
    is_directive = text.startswith(b"#")
    return target.edit(start, end, b"#pragma unroll 1" if is_directive else b'_Pragma("unroll 1")')


class _Said(NamedTuple):
    """A pragma before a loop, which says how often to unroll it.

    Attributes:
        span: its bytes.
        may_be_left_out: whether it is in a branch that need not be compiled.
    """

    span: tuple[int, int]
    may_be_left_out: bool


def _said(loop: Node, target: Target) -> _Said | None:
    """The pragma before a loop, or the last one of the branches before it."""
    node, is_doubtful = loop.prev_sibling, False
    while node is not None:
        while node.type in _BRANCHES and node.named_children:
            head = target.syntax.text(node).partition(b"\n")[0].strip()
            has_other = any(one.type in _BRANCHES for one in node.named_children)
            is_doubtful |= has_other or _DEVICES.fullmatch(head) is None
            node = node.named_children[-1]
        text = target.syntax.text(node)
        if node.type == "comment" and (found := PRAGMA.match(text)) is not None:
            end = node.start_byte + len(found[0].rstrip())
            return _Said((node.start_byte, end), is_doubtful)
        if node.type == "expression_statement" and (found := _OPERATOR.fullmatch(text.strip())):
            return _Said((node.start_byte, node.start_byte + len(found[0])), is_doubtful)
        if node.type not in ("comment", "preproc_call"):
            return None
        node = node.prev_sibling
    return None


def indexing_loops(target: Target) -> tuple[Node, ...]:
    """The loops whose counters index the target's variable, in the order of the text."""
    found: list[Node] = []
    for subscript in subscripts(target):
        names = index_names(subscript, target)
        found += [
            loop
            for loop in around(subscript, *LOOPS)
            if loop not in found and names & counters(loop, target)
        ]
    for hit in target.hits:
        place = hit.finding.index.loop if hit.finding.index is not None else None
        if hit.finding.cause == "rolled-loop" and place is None:
            place = hit.finding.location
        if place is not None and is_here(target, place):
            found += [
                node
                for node in target.syntax.on_line(place.line)
                if node.type in LOOPS and node not in found
            ]
    return tuple(sorted((one for one in found if not one.has_error), key=lambda n: n.start_byte))


def check_hidden(target: Target) -> None:
    """Finds out whether the text hides loops whose counters index the target's variable.

    Raises:
        DeclinedError: a macro has one, or it is not read completely.
    """
    cases = [hit.case.index for hit in target.hits]
    if not any(
        source.kind == "loop-counter"
        for one in cases
        if one is not None
        for source in one.all_sources
    ):
        return
    loops = [one.loop for one in cases if one is not None and is_here(target, one.loop)]
    for line in sorted({*lines_of(target), *(one.line for one in loops if one is not None)}):
        nodes = target.syntax.on_line(line)
        words = {target.syntax.text(one) for one in nodes if one.type.endswith("identifier")}
        if target.meanings.macro_has(words, _LOOPING):
            raise DeclinedError(f"the macro on line {line} has a loop, which is not read")
        if any(one.type in LOOPS and one.has_error for one in nodes):
            raise DeclinedError(f"the loop on line {line} is not read completely")


def surrounding_loops(target: Target, loops: Iterable[Node]) -> tuple[Node, ...]:
    """The loops, and the others around uses of the variable that run a constant number of times."""
    found = list(loops)
    for subscript in subscripts(target):
        found += [
            loop
            for loop in around(subscript, "for_statement")
            if loop not in found and not loop.has_error and is_constant(loop, target)
        ]
    return tuple(sorted(found, key=lambda n: n.start_byte))


def subscripts(target: Target) -> Iterator[Node]:
    """Subscripts of what has the variable's name, in its function and where the findings say."""
    if target.name is None:
        return
    name = target.name.rpartition(".")[2].rpartition(">")[2].encode()
    lines = set(lines_of(target))
    places = (target.place, target.declared_at)
    lines |= {place.line for place in places if place is not None and is_here(target, place)}
    seen: list[Node] = []
    for line in sorted(lines):
        for node in target.syntax.on_line(line):
            function = outermost(node, FUNCTIONS)
            if function is not None:
                if function not in seen:
                    seen.append(function)
                break
    named = [
        node
        for function in seen
        for node in walk(function)
        if node.type == "subscript_expression" and _root(node, target) == name
    ]
    # Where a parameter stands for it, the line of the deciding access tells which.
    yield from named or _deciding(target)


def _deciding(target: Target) -> Iterator[Node]:
    for place in {hit.finding.location for hit in target.hits}:
        if place is not None and is_here(target, place):
            for node in target.syntax.on_line(place.line):
                if node.type == "subscript_expression":
                    yield node


def counters(loop: Node, target: Target) -> frozenset[bytes]:
    """Variables that a loop's head changes; of a ``while``, those of its condition that it changes.

    ``while (n--)`` and ``while (i < n) { …; i++; }`` count as ``for`` does.
    """
    syntax = target.syntax
    if loop.type == "for_statement":
        update = loop.child_by_field_name("update")
        return frozenset() if update is None else _changed(update, target)
    condition = loop.child_by_field_name("condition")
    asked = set() if condition is None else {syntax.text(n) for n in _names(condition)}
    return frozenset(asked & _changed(loop, target))


def is_constant(loop: Node, target: Target) -> bool:
    """Whether a ``for`` visibly runs from a number to a number, or to a constant's name."""
    condition = loop.child_by_field_name("condition")
    if condition is None or condition.type != "binary_expression":
        return False
    right = condition.child_by_field_name("right")
    if right is not None and is_number(right, target):
        return True
    return right is not None and all(
        one.type not in ("identifier", "call_expression", "field_expression")
        or (one.type == "identifier" and is_constant_name(one, target))
        for one in walk(right)
    )


def is_number(node: Node, target: Target) -> bool:
    """Whether an expression is a number that can be computed from constants in sight."""
    return constant_at(node, target) is not None


def constant_at(node: Node, target: Target) -> int | None:
    """The number that an expression of constants in sight is; None of others."""
    text = target.syntax.text(node).decode(errors="replace")
    place = SourceLocation(target.path, node.start_point.row + 1)
    sources = target.hits[0].case.sources
    for hit in target.hits:
        for own in (hit.facts.location, target.declared_at, hit.finding.location):
            if own is not None and is_here(target, own):
                place = SourceLocation(own.file, place.line)
    return number_of(text, sources, place)


def is_constant_name(name: Node, target: Target) -> bool:
    """Whether a name is spelled as a constant, or is a parameter of the template around it."""
    return is_spelled_as_constant(target.syntax.text(name), name, target.syntax)


def is_spelled_as_constant(text: bytes, place: Node, syntax: Syntax) -> bool:
    """The same of a name that a macro makes at a place."""
    if _NUMBER.fullmatch(text):
        return True
    return any(
        text == syntax.text(one)
        for template in around(place, "template_declaration")
        for given in [template.child_by_field_name("parameters")]
        if given is not None
        for one in walk(given)
        if one.type == "identifier"
    )


def _changed(node: Node, target: Target) -> frozenset[bytes]:
    changes = (what for one in walk(node) if (what := changed(one)) is not None)
    return frozenset(target.syntax.text(one) for one in changes if one.type == "identifier")


def _names(node: Node) -> Iterator[Node]:
    return (one for one in walk(node) if one.type == "identifier")


def index_names(subscript: Node, target: Target) -> set[bytes]:
    """Variables in a subscript's indices, those of further dimensions included."""
    found: set[bytes] = set()
    node: Node | None = subscript
    while node is not None and node.type == "subscript_expression":
        given = node.child_by_field_name("indices")
        if given is not None:
            found |= {target.syntax.text(one) for one in _names(given)}
        node = node.parent
    return found


def index_of(subscript: Node) -> Node | None:
    """A subscript's index; None of several."""
    given = subscript.child_by_field_name("indices")
    inside = [] if given is None else [one for one in given.named_children if one.type != "comment"]
    return inside[0] if len(inside) == 1 else None


def _root(subscript: Node, target: Target) -> bytes | None:
    node = subscript.child_by_field_name("argument")
    while node is not None and node.type in ("subscript_expression", "parenthesized_expression"):
        node = node.child_by_field_name("argument") or first_named(node)
    if node is not None and node.type == "field_expression":
        node = node.child_by_field_name("field")
    return target.syntax.text(node) if node is not None else None
