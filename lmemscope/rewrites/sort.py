"""Insert with constant indices

A loop that moves elements up or down until a comparison fails, as in insertion into a sorted list,
becomes an unrolled loop over all positions: each compares, and moves or inserts only if it is the
current one. Every index is a constant. Payload arrays that move along are rewritten alike.

Safe: the same comparisons of the same elements happen in the same order, so the order of equal
elements and the effect of NaN are unchanged; the list need not be sorted. It costs a comparison and
two selections per position and array: long arrays with few insertions are better in shared memory.
For up to 16 (8) elements a second variant unrolls the loop around it by four (eight).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from lmemscope.model import Edit, Rewriting, count
from lmemscope.rewrites.arrays import elements, words_of
from lmemscope.rewrites.base import DeclinedError, Rewrite, Target
from lmemscope.rewrites.loops import (
    LOOPS,
    PRAGMA,
    indexing_loops,
    is_constant,
    partly_unrolled,
    unroll_edit,
)
from lmemscope.rewrites.places import Extent, extent_of, is_declared_again, known_arrays
from lmemscope.rewrites.purity import is_pure, is_pure_call
from lmemscope.rewrites.steady import is_only_named
from lmemscope.rewrites.stepped import Stepped, behind, distance, in_loop, stepped
from lmemscope.rewrites.unrolled import NAMES, unrolled
from lmemscope.rewrites.variables import Number, changed_by, number_at
from lmemscope.rewrites.written import BLOCKS, in_arguments, is_continued, may_be_body
from lmemscope.sources.syntax import around, first_named, walk

if TYPE_CHECKING:
    from tree_sitter import Node

MOST = 64
"""Elements: beyond these the code is larger than what it saves."""
_TURNS = ((8, 8), (16, 4))
"""Elements up to which the loop around an insertion is unrolled too, and how often: what its turns
load is waited for together. On an H100 a list of 8 is 1.24 times as fast with 8 turns, and 1.13
times with 4."""


@dataclass(frozen=True, slots=True)
class _Insertion:
    """A loop that is rewritten.

    Attributes:
        loop: in its parts.
        counter: its index.
        edit: of the loop and its end.
    """

    loop: Stepped
    counter: Number
    edit: Edit


def propose(target: Target) -> Iterator[Rewriting]:
    """The loops that move its elements; with the loops around them that begin the index, too."""
    declared = target.declared
    if declared is None or declared.array is None:
        return
    moving = [one for one in _loops(target) if _moves(one, target)]
    if not moving:
        return
    extent = extent_of(declared.array, target.syntax)
    if extent is None:
        raise DeclinedError("its extent is left to its initializer")
    largest = max((_size(hit.finding.type) for hit in target.hits), default=0)
    if largest > MOST:
        raise DeclinedError(f"{largest} elements are too many to compare one after the other")
    if target.meanings.is_redefined(words_of([extent.text])) or is_declared_again(
        extent.text, declared, target.syntax
    ):
        raise DeclinedError(f"`{extent.text.decode(errors='replace')}` is defined again")
    elements(
        target.path,
        target.syntax,
        declared.name,
        declared.scope,
        len(declared.extents),
        is_const=False,
    )
    made = [_insertion(target, one, extent) for one in moving]
    edits = [one.edit for one in made]
    rewritten = tuple(one.loop.loop for one in made)
    whole = [one for one in indexing_loops(target) if is_constant(one, target)]
    whole = [one for one in whole if one not in rewritten and not in_loop(one, rewritten)]
    beginning = [one for one in _beginning(target, made) if one not in whole]
    first = [*edits, *_unrolling(target, (one for one in whole if not _holds_any(one, made)))]
    summary = f"compare, move and insert at constant indices of `{target.name}`"
    yield Rewriting("sort", "safe", tuple(first), summary)
    every = [*edits, *_unrolling(target, (*whole, *beginning))]
    if set(every) != set(first):
        around_it = f" in {count(len(every) - len(first), 'unrolled loop')}"
        yield Rewriting("sort", "safe", tuple(every), summary + around_it)
    turns = next((often for most, often in _TURNS if 0 < largest <= most), None)
    if turns is not None:
        outer = (one for one in (_outer(own, target) for own in made) if one is not None)
        partly = (partly_unrolled(target, one, turns) for one in dict.fromkeys(outer))
        edits = [one for one in partly if one is not None]
        if edits:
            ahead = f", {turns} turns of the loop around it at a time"
            yield Rewriting("sort", "safe", (*first, *edits), summary + ahead)


def _outer(one: _Insertion, target: Target) -> Node | None:
    """The loop that inserts again and again; None where it has a constant number of turns."""
    loop = next(around(one.loop.loop, *LOOPS), None)
    if loop is None or loop.type != "for_statement" or loop.has_error:
        return None
    return None if is_constant(loop, target) else loop


def _loops(target: Target) -> Iterator[Stepped]:
    """The loops with a stepped index that use its elements."""
    assert target.declared is not None
    seen: list[Node] = []
    for use in target.syntax.uses(target.declared.name, target.declared.scope):
        loop = next(around(use, *LOOPS), None)
        if loop is None or loop in seen or loop.start_byte < target.declared.scope.start_byte:
            continue
        seen.append(loop)
        made = stepped(loop, target.syntax)
        if made is not None:
            yield made


def _moves(loop: Stepped, target: Target) -> bool:
    """Whether a step puts an element of the array into another place."""
    if loop.loop.type == "for_statement" and loop.asked is None and is_constant(loop.loop, target):
        return False  # Unrolling is enough.
    used: set[int] = set()
    is_put = False
    for subscript in (node for one in loop.body for node in walk(one)):
        if subscript.type != "subscript_expression" or not _is_of(subscript, target):
            continue
        given = subscript.child_by_field_name("indices")
        index = first_named(given) if given is not None else None
        offset = distance(index, loop.counter, target.syntax) if index is not None else None
        if offset is None:
            continue
        used.add(offset)
        whole = subscript
        while whole.parent is not None and whole.parent.type in (
            "subscript_expression",
            "field_expression",
        ):
            whole = whole.parent
        above = whole.parent
        is_put |= above is not None and (
            (above.type == "assignment_expression" and above.child_by_field_name("left") == whole)
            or above.type == "argument_list"
        )
    return is_put and len(used) > 1


def _is_of(subscript: Node, target: Target) -> bool:
    array = subscript.child_by_field_name("argument")
    name = target.declared.name if target.declared is not None else None
    return (
        array is not None
        and name is not None
        and (target.syntax.text(array) == target.syntax.text(name))
    )


def _insertion(target: Target, loop: Stepped, extent: Extent) -> _Insertion:
    """The edit of a loop.

    Raises:
        DeclinedError: it cannot be told to mean the same.
    """
    syntax, line = target.syntax, loop.loop.start_point.row + 1
    counter = number_at(loop.counter, loop.loop, syntax)
    if loop.owns:
        counter = number_at(loop.counter, loop.body[0], syntax)
    name = loop.counter.decode()
    if counter is None or counter.is_const or not is_only_named(counter, target):
        raise DeclinedError(f"line {line}: `{name}` is no plain local number")
    inner = number_at(loop.counter, loop.update, syntax)
    if inner is None or inner.name != counter.name:
        raise DeclinedError(f"line {line}: `{name}` means several things")
    loop = loop if loop.owns else _with_tail(loop, target)
    region = (loop.loop, *loop.tail)
    words = words_of(syntax.text(one) for one in region)
    meanings = target.meanings
    if meanings.has_effects(words, calls=False) or _LEAVING.search(meanings.definitions(words)):
        raise DeclinedError(f"line {line}: a macro may change something")
    calls = (node for one in region for node in walk(one) if node.type == "call_expression")
    if not all(is_pure_call(one, target) for one in calls):
        raise DeclinedError(f"line {line} calls what may do more than compute")
    if words & NAMES:
        raise DeclinedError(f"line {line}: names of the new loop are taken")
    if not all(is_pure(one, target) for one in loop.conditions):
        raise DeclinedError(f"line {line} asks something with an effect")
    start = region[0].start_byte
    first = region[0]
    in_block = first.parent is not None and first.parent.type in BLOCKS
    is_headed = in_block and may_be_body(first, syntax)
    if is_headed or in_arguments(first, target) or is_continued(target, syntax.line_start(start)):
        raise DeclinedError(f"line {line} stands in a macro")
    before = loop.loop.prev_sibling
    if before is not None and PRAGMA.match(syntax.text(before)) is not None:
        start = before.start_byte
    arrays = known_arrays(region, extent, syntax)
    text = unrolled(target, loop, arrays, extent, counter)
    if start != region[0].start_byte:
        text = syntax.indent(loop.loop) + text
    return _Insertion(loop, counter, target.edit(start, region[-1].end_byte, text))


def _ending(statement: Node, loop: Stepped, target: Target) -> int | None:
    for one in walk(statement):
        if one.type == "subscript_expression":
            given = one.child_by_field_name("indices")
            index = first_named(given) if given is not None else None
            found = None if index is None else distance(index, loop.counter, target.syntax)
            if found is not None:
                return found
    return None


def _with_tail(loop: Stepped, target: Target) -> Stepped:
    """The loop with those statements behind it that its index belongs to."""
    found: list[Node] = []
    passed: list[Node] = []
    for one in behind(loop.loop):
        if any(loop.counter in changed_by(node, target.syntax) for node in walk(one)):
            break
        if one.type == "if_statement":
            clause = one.child_by_field_name("condition")
            if one.child_by_field_name("alternative") is not None or clause is None:
                break
            if not is_pure(clause, target):
                break
        passed.append(one)
        is_used = _ending(one, loop, target) is not None
        if is_used and (_is_certain(one) or len(passed) == len(found) + 1):
            found = list(passed)
    certain = [one for one in found if _is_certain(one)]
    plain = [one for one in found if _ending(one, loop, target) is None]
    if plain and not certain:
        found = []
    return replace(loop, tail=tuple(found))


def _is_certain(statement: Node) -> bool:
    """Whether a statement behind the loop is done in any case."""
    return statement.type == "expression_statement"


def _beginning(target: Target, made: list[_Insertion]) -> Iterator[Node]:
    """Constant loops around insertions whose counters say where an index begins."""
    for one in made:
        start = one.loop.start or one.counter.value
        names = (
            set()
            if start is None
            else {target.syntax.text(node) for node in walk(start) if node.type == "identifier"}
        )
        for loop in around(one.loop.loop, "for_statement"):
            update = loop.child_by_field_name("update")
            if update is None or not is_constant(loop, target):
                continue
            if names & {target.syntax.text(node) for node in walk(update)}:
                yield loop


def _unrolling(target: Target, loops: Iterator[Node] | tuple[Node, ...]) -> list[Edit]:
    edits = (unroll_edit(target, loop) for loop in loops)
    return list(dict.fromkeys(edit for edit in edits if edit is not None))


def _holds_any(loop: Node, made: list[_Insertion]) -> bool:
    return any(loop in list(around(one.loop.loop, *LOOPS)) for one in made)


def _size(type_: str | None) -> int:
    found = re.search(r"\[(\d+)\]", type_ or "")
    return int(found[1]) if found is not None else 0


_LEAVING = re.compile(rb"\b(?:break|continue|return|goto|case|asm)\b")


REWRITE = Rewrite(
    "sort",
    frozenset({"dynamic-index", "rolled-loop"}),
    propose,
    __name__,
    nothing="no loop moves its elements to insert one among them",
)
