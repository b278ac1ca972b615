"""Bound the loop by the array's size

`for (int i = 0; i < n; ++i)` over an array of N elements becomes an unrolled loop to N that is left
when `i < n` fails, so each index is a constant. A loop that counts down from a run-time number
counts down from N - 1 and skips what is above that number.

Safe if every iteration begins by using element `i`, of this array or another local one of its size,
before anything can leave the loop or the thread: a loop beyond N would be undefined. Otherwise
unsafe: the promise is that the bound never exceeds N. Declined if a launch in sight gives it more,
if the loop tests its own counter before each use (`if (i < N)`), and if a macro may change the
meaning of bound, extent or body. It costs the code of N iterations, and a comparison in each.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lmemscope.model import Edit, Rewriting, SourceLocation, SourceText, count
from lmemscope.rewrites.arrays import words_of
from lmemscope.rewrites.base import DeclinedError, Rewrite, Target
from lmemscope.rewrites.falling import falling
from lmemscope.rewrites.first_use import begins_with_use, position_of
from lmemscope.rewrites.given_numbers import check_given
from lmemscope.rewrites.guards import is_guarded
from lmemscope.rewrites.likelihood import elements_of, fits_limit, is_counted
from lmemscope.rewrites.loops import (
    are_all_within,
    constant_at,
    counters,
    index_of,
    indexing_loops,
    is_constant,
    is_constant_name,
    unroll_edit,
)
from lmemscope.rewrites.places import (
    array_at,
    extent_of,
    is_declared_again,
    is_declared_name,
    known_arrays,
)
from lmemscope.rewrites.purity import is_pure
from lmemscope.rewrites.rows import is_first_row
from lmemscope.rewrites.steady import is_steady
from lmemscope.rewrites.variables import changed_by, number_at
from lmemscope.rewrites.written import first_in, in_arguments, is_continued
from lmemscope.rules.constants import number_of
from lmemscope.sources.syntax import Declared, around, walk

if TYPE_CHECKING:
    from tree_sitter import Node

MOST = 128
"""Turns: beyond these the code of an unrolled loop is larger than what it saves."""
_ADVISED = 32
"""Elements up to which a loop over all of them is advised: more are rarely worth the conditions."""
_BOUNDS = ("<", "<=")
_EXTENT = re.compile(r"\[(\d+)\]")


@dataclass(frozen=True, slots=True)
class _Bounded:
    """A loop with its bound.

    Attributes:
        edits: that bound and unroll it.
        closed: where a brace closes that they open, or None: several loops may end there.
        is_sure: whether each turn uses the element first.
        bound: as written, with what it must not be.
        extent: of the array, as written.
    """

    edits: tuple[Edit, ...]
    closed: int | None
    is_sure: bool
    bound: bytes
    extent: bytes


def propose(target: Target) -> Iterator[Rewriting]:
    """All loops whose counters index the array: those of other bounds than constants bounded."""
    declared = target.declared
    if declared is None or declared.array is None or _is_shadowed(target, declared):
        return
    edits: list[Edit] = []
    bounded: list[_Bounded] = []
    for loop in indexing_loops(target):
        made = _made(target, loop)
        if made is not None:
            bounded.append(made)
            edits += made.edits
        elif (edit := unroll_edit(target, loop)) is not None:
            edits.append(edit)
    if not bounded:
        return
    closed = Counter(one.closed for one in bounded if one.closed is not None)
    edits += [target.edit(at, at, b" }" * number) for at, number in closed.items()]
    promised = [
        (one.edits[-1], f"{one.bound.decode(errors='replace')} {one.extent.decode()}")
        for one in bounded
        if not one.is_sure
    ]
    yield Rewriting(
        "bounded-loop",
        "unsafe" if promised else "safe",
        tuple(dict.fromkeys(edits)),
        f"bound {count(len(bounded), 'loop')} by the size of `{target.name}`, and unroll",
        " and ".join(dict.fromkeys(text for _, text in promised)) or None,
        tuple(promised),
    )


def _made(target: Target, loop: Node) -> _Bounded | None:
    """A loop with a bound, in either direction; None of one that has one or gets none."""
    made = _lowered(target, loop)
    return made if made is not None or is_constant(loop, target) else _bounded(target, loop)


def _bounded(target: Target, loop: Node) -> _Bounded | None:
    """A loop that counts up from a constant; None of others, and of what cannot be repeated."""
    syntax = target.syntax
    counter = _counter(target, loop)
    condition = loop.child_by_field_name("condition")
    body = loop.child_by_field_name("body")
    if counter is None or condition is None or body is None:
        return None
    if condition.type != "binary_expression":
        return None
    left, right = (condition.child_by_field_name(side) for side in ("left", "right"))
    operator = condition.child_by_field_name("operator")
    if left is None or right is None or operator is None:
        return None
    if left.type != "identifier" or syntax.text(left) != counter:
        return None
    if syntax.text(operator).decode() not in _BOUNDS or not _is_repeatable(right, target):
        return None
    if any(
        one.type != "call_expression" and counter in changed_by(one, syntax) for one in walk(body)
    ):
        return None
    extent, is_sure = _extent(target, loop, counter, body)
    if extent is None or extent == syntax.text(right):
        return None
    bound = target.edit(condition.start_byte, condition.end_byte, counter + b" < " + extent)
    edits = _guarded(target, loop, counter, bound, b"!(" + syntax.text(condition) + b")", b"break")
    never = b"never exceeds" if syntax.text(operator) == b"<" else b"never reaches"
    promise = b"`" + syntax.text(right) + b"` " + _unlike(target, loop, counter, right) + never
    is_sure = is_sure or _is_below(target, loop, right, extent)
    if not is_sure and _says_itself(target, loop):
        return None
    most = number_of(extent.decode(errors="replace"), *_at(target, loop))
    if not is_sure and most is not None:
        check_given(syntax.text(right), most - (syntax.text(operator) == b"<="), target)
    return None if edits is None else _Bounded(edits, _closed(body), is_sure, promise, extent)


def _at(target: Target, node: Node) -> tuple[SourceText, SourceLocation]:
    """Where a name of a node is looked up."""
    place = SourceLocation(target.path, node.start_point.row + 1)
    return target.hits[0].case.sources, place


def _says_itself(target: Target, loop: Node) -> bool:
    """Whether a loop asks its counter before each use: the array's size bounds no turns then."""
    uses = [
        one for one in _uses(target) if any(outer == loop for outer in around(one, "for_statement"))
    ]
    return all(is_guarded(one, loop, target.syntax) for one in uses)


def _unlike(target: Target, loop: Node, counter: bytes, bound: Node) -> bytes:
    """What is promised of a bound besides: a negative one is above any that an unsigned counter
    is below."""
    update = loop.child_by_field_name("update")
    number = None if update is None else number_at(counter, update, target.syntax)
    if number is None or number.is_signed:
        return b""
    names = [one for one in walk(bound) if one.type == "identifier"]
    numbers = [number_at(target.syntax.text(one), bound, target.syntax) for one in names]
    if all(one is not None and not one.is_signed for one in numbers) and numbers:
        return b""
    return b"is never negative and "


def _is_below(target: Target, loop: Node, bound: Node, extent: bytes) -> bool:
    """Whether a bound is the counter of a loop around it, which stays below the extent by then."""
    for outer in around(loop, "for_statement"):
        counter, update = _counter(target, outer), outer.child_by_field_name("update")
        if counter is None or counter != target.syntax.text(bound):
            continue
        number = number_at(counter, bound, target.syntax)
        if number is None or outer.has_error or not is_steady(number, outer, target, update):
            return False
        made = _bounded(target, outer)
        return made is not None and made.extent == extent
    return False


def _lowered(target: Target, loop: Node) -> _Bounded | None:
    """A loop that counts down from what is no constant; None of others."""
    head, body = falling(loop, target), loop.child_by_field_name("body")
    if head is None or body is None:
        return None
    extent, is_sure = _extent(target, loop, head.counter, body)
    if extent is None:
        return None
    start = target.syntax.text(head.start)
    begun = target.edit(head.start.start_byte, head.start.end_byte, extent + b" - 1")
    above = head.counter + b" > (" + head.type + b")(" + start + b")"
    edits = _guarded(target, loop, head.counter, begun, above, b"continue")
    begun_at = start if head.is_exact else b"(" + head.type + b")(" + start + b")"
    promise = b"`" + begun_at + b"` never reaches"
    if not is_sure and _says_itself(target, loop):
        return None
    return None if edits is None else _Bounded(edits, _closed(body), is_sure, promise, extent)


def _closed(body: Node) -> int | None:
    return None if body.type == "compound_statement" else body.end_byte


def _counter(target: Target, loop: Node) -> bytes | None:
    """What a ``for`` counts up with, from what is no negative number."""
    if loop.type != "for_statement":
        return None
    initial, update = (loop.child_by_field_name(part) for part in ("initializer", "update"))
    names = counters(loop, target)
    if initial is None or update is None or len(names) != 1:
        return None
    (name,) = names
    text = target.syntax.text(update)
    if b"--" in text or re.search(rb"[-*/%&|^<>]=|[^+]=", text) or b"," in text:
        return None
    if update.type == "assignment_expression":
        step = update.child_by_field_name("right")
        if step is None or step.type != "number_literal":
            return None
    found = None
    for one in walk(initial):
        field = {"init_declarator": "declarator", "assignment_expression": "left"}.get(one.type)
        node = one.child_by_field_name(field) if field is not None else None
        if node is not None and target.syntax.text(node) == name:
            found = one.child_by_field_name(
                "value" if one.type == "init_declarator" else "right",
            )
    # Counters around it are constants where those loops are unrolled, too.
    outer = [*around(loop, "for_statement")]
    heads = [head for one in outer if (head := falling(one, target)) is not None]
    natural = (one.counter for one in heads if one.is_natural)
    around_it = {*(_counter(target, one) for one in outer), *natural}
    if found is None or not all(
        one.type not in ("identifier", "call_expression", "field_expression")
        or (
            one.type == "identifier"
            and (_is_natural(one, target) or target.syntax.text(one) in around_it)
        )
        for one in walk(found)
    ):
        return None
    return None if re.search(rb"[-~]", target.syntax.text(found)) else name


def _is_natural(name: Node, target: Target) -> bool:
    """Whether a name is of a constant that is not negative."""
    if not is_constant_name(name, target):
        return False
    value = constant_at(name, target)
    return value is not None and value >= 0


def _is_repeatable(bound: Node, target: Target) -> bool:
    """Whether a bound can be evaluated once less without a difference: nothing of it calls."""
    kinds = {one.type for one in walk(bound)}
    return "call_expression" not in kinds and is_pure(bound, target)


def _extent(target: Target, loop: Node, counter: bytes, body: Node) -> tuple[bytes | None, bool]:
    """The extent that the counter alone indexes, and whether each turn begins with such a use."""
    declared = target.declared
    assert declared is not None
    found: dict[bytes, None] = {}
    first: list[Node] = []
    goes_on = False
    for subscript in _uses(target):
        if all(one != loop for one in around(subscript, "for_statement")):
            continue
        position = position_of(subscript)
        index = index_of(subscript)
        if index is None or target.syntax.text(index) != counter:
            continue
        extent = _of(target, position)
        if extent is None:
            return None, False
        found[extent] = None
        first.append(subscript)
        goes_on = goes_on or _may_go_on(subscript, target)
    if len(found) != 1:
        return None, False
    (extent,) = found
    first += _beside(target, body, counter)
    is_sure = not (goes_on or _is_of_rows(declared.statement, target)) and begins_with_use(
        target, body, first, len(declared.extents), counter
    )
    return extent, is_sure


def _may_go_on(subscript: Node, target: Target) -> bool:
    """Whether a subscript is of an array's first row, and may find the next one's elements."""
    row = subscript.child_by_field_name("argument")
    index = index_of(row) if row is not None and row.type == "subscript_expression" else None
    return index is not None and is_first_row(index, target)


def _is_of_rows(statement: Node, target: Target) -> bool:
    """Whether a declaration's type is a name for arrays."""
    kind = statement.child_by_field_name("type")
    return kind is None or target.meanings.is_row(target.syntax.text(kind))


def _beside(target: Target, body: Node, counter: bytes) -> Iterator[Node]:
    """Elements that a body uses by the counter, of other local arrays of the same extent."""
    declared, syntax = target.declared, target.syntax
    extent = extent_of(declared.array, syntax) if declared and declared.array else None
    if declared is None or extent is None or len(declared.extents) != 1:
        return
    names, own = known_arrays((body,), extent, syntax), declared.statement
    for node in walk(body):
        if node.type != "subscript_expression":
            continue
        array, index = node.child_by_field_name("argument"), index_of(node)
        if array is None or index is None or syntax.text(index) != counter:
            continue
        other = array_at(syntax.text(array), node, syntax) if syntax.text(array) in names else None
        statement = None if other is None else next(around(other, "declaration"), None)
        if other is None or statement is None or _is_of_rows(statement, target):
            continue
        inner = other.child_by_field_name("declarator")
        if inner is None or inner.type != "identifier":
            continue  # Its elements are rows.
        if not _is_local_name(extent.text, min(statement.start_byte, own.start_byte), target):
            yield node


def _is_local_name(text: bytes, before: int, target: Target) -> bool:
    """Whether arrays behind a byte may see another meaning of a name in their extents each.

    What a function declares by such a name itself must be one thing, before both.
    """
    declared, words = target.declared, set(words_of([text]))
    assert declared is not None
    local = [
        node
        for node in walk(declared.function)
        if node.type in ("identifier", "type_identifier")
        and target.syntax.text(node) in words
        and is_declared_name(node)
    ]
    return len(local) > 1 or any(node.start_byte >= before for node in local)


def _uses(target: Target) -> Iterator[Node]:
    """The subscripts of the variable itself: not of a member that is called like it."""
    declared = target.declared
    assert declared is not None
    for name in target.syntax.uses(declared.name, declared.scope):
        node = name
        while node.parent is not None and node.parent.type == "subscript_expression":
            if node.parent.child_by_field_name("argument") != node:
                break
            node = node.parent
            yield node


def _is_shadowed(target: Target, declared: Declared) -> bool:
    """Whether something else in its scope is declared by its name, or a macro may use it."""
    syntax = target.syntax
    name = syntax.text(declared.name)
    return name in syntax.macros or any(
        is_declared_name(node) for node in syntax.uses(declared.name, declared.scope)
    )


def _of(target: Target, position: int) -> bytes | None:
    """An extent of the array, as a number where it is known; None beyond what is worth it."""
    declared = target.declared
    assert declared is not None
    numbers = {tuple(_EXTENT.findall(hit.finding.type or "")) for hit in target.hits}
    known = [int(one[position]) for one in numbers if position < len(one)]
    if any(number > MOST for number in known) or position >= len(declared.extents):
        return None
    extent = declared.extents[position]
    if extent is not None:
        text = target.syntax.text(extent)
        if target.meanings.is_redefined(words_of([text])) or is_declared_again(
            text, declared, target.syntax
        ):
            return None  # It may mean something else at the loop.
        whole = extent.type in ("number_literal", "identifier", "parenthesized_expression")
        return text if whole else b"(" + text + b")"
    return str(known[0]).encode() if len(set(known)) == 1 else None


def _guarded(
    target: Target, loop: Node, counter: bytes, head: Edit, where: bytes, away: bytes
) -> tuple[Edit, ...] | None:
    """Edits that unroll a loop of another head, and guard its body; None where that cannot be.

    Args:
        target: whose file it is.
        loop: to unroll.
        counter: of the loop.
        head: edit of the head.
        where: condition of the turns that were not there before.
        away: what ends these.
    """
    syntax, body = target.syntax, loop.child_by_field_name("body")
    if body is None or body.type == "preproc_call" or in_arguments(loop, target):
        return None
    if body.type != "compound_statement" and target.meanings.is_several(
        words_of([syntax.text(body)])
    ):
        return None  # Only the first of a macro's statements is in the loop.
    names = (one for one in walk(body) if one.type == "identifier")
    if any(syntax.text(one) == counter and is_declared_name(one) for one in names):
        return None  # Another variable of the counter's name.
    if b"\n" in where or b"//" in where:
        return None
    opened = _opened(target, loop, body, b"if (" + where + b") " + away + b";")
    if opened is None:
        return None
    own = (head, opened)
    if any(is_continued(target, syntax.line_start(one.start)) for one in own):
        return None
    pragma = unroll_edit(target, loop)
    return own if pragma is None else (pragma, *own)


def _opened(target: Target, loop: Node, body: Node, guard: bytes) -> Edit | None:
    """The guard as a body's first statement, behind a brace where it has none."""
    if body.type == "compound_statement":
        return first_in(target, body, guard)
    if body.type == "case_statement" or body.type.startswith("preproc"):
        return None
    ended = [one for one in loop.children if one.type == ")" and one.end_byte <= body.start_byte]
    if not ended:
        return None
    at = ended[-1].end_byte  # Before a pragma of the body's own.
    return target.edit(at, at, b" { " + guard)


def _is_likely(target: Target) -> bool:
    """Whether counters of loops that it bounds alone index it, and registers can hold it."""
    is_small = (elements_of(target) or 0) <= _ADVISED and fits_limit(target)
    if not is_counted(target) or not is_small or target.declared is None:
        return is_counted(target) and is_small
    try:
        loops = [
            one
            for one in indexing_loops(target)
            if is_constant(one, target) or _made(target, one) is not None
        ]
    except DeclinedError:
        return True  # Its proposal says why.
    return are_all_within(target, loops)


REWRITE = Rewrite(
    "bounded-loop",
    frozenset({"rolled-loop", "dynamic-index"}),
    propose,
    __name__,
    nothing="no loop with a bound that varies has a counter that indexes it",
    is_likely=_is_likely,
    cost="It costs the code of every iteration: keep it only if ptxas does not spill.",
)
