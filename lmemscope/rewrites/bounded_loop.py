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
from lmemscope.rewrites.counted_extent import counted_extent, is_shadowed, own_subscripts
from lmemscope.rewrites.falling import falling
from lmemscope.rewrites.given_numbers import check_bound
from lmemscope.rewrites.guards import is_guarded
from lmemscope.rewrites.loops import (
    check_hidden,
    constant_at,
    counters,
    indexing_loops,
    is_constant,
    is_constant_name,
    unroll_edit,
)
from lmemscope.rewrites.places import (
    is_declared_name,
)
from lmemscope.rewrites.purity import is_pure
from lmemscope.rewrites.steady import is_steady
from lmemscope.rewrites.variables import changed_by, number_at
from lmemscope.rewrites.written import first_in, in_arguments, is_continued
from lmemscope.rules.constants import number_of
from lmemscope.rules.indexing import is_counted
from lmemscope.sources.syntax import around, walk

if TYPE_CHECKING:
    from tree_sitter import Node

_BOUNDS = ("<", "<=")


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


class _UnfitError(DeclinedError):
    """A loop is none that gets a bound."""

    def __init__(self, loop: Node, why: str) -> None:
        super().__init__(f"the loop on line {loop.start_point.row + 1} {why}")


def propose(target: Target) -> Iterator[Rewriting]:
    """All loops whose counters index the array: those of other bounds than constants bounded."""
    declared = target.declared
    if declared is None or declared.array is None:
        raise DeclinedError("its declaration is not read as an array")
    if target.syntax.text(declared.name) in target.syntax.macros:
        raise DeclinedError("a macro may use it")
    if is_shadowed(target, declared):
        raise DeclinedError("something else is declared by its name where it is known")
    edits: list[Edit] = []
    bounded: list[_Bounded] = []
    unfit: list[_UnfitError] = []
    for loop in indexing_loops(target):
        try:
            made = _made(target, loop)
        except _UnfitError as error:
            unfit.append(error)
            made = None
        if made is not None:
            bounded.append(made)
            edits += made.edits
        elif (edit := unroll_edit(target, loop)) is not None:
            edits.append(edit)
    if not bounded:
        check_hidden(target)
        if unfit:
            raise unfit[0]
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
    """A loop with a bound, in either direction; None of one that has one.

    Raises:
        _UnfitError: it gets none.
    """
    made = _lowered(target, loop)
    return made if made is not None or is_constant(loop, target) else _bounded(target, loop)


def _bounded(target: Target, loop: Node) -> _Bounded:
    """A loop that counts up from a constant.

    Raises:
        _UnfitError: it is another, or cannot be repeated.
    """
    syntax = target.syntax
    counter, right, operator = _head(target, loop)
    body = loop.child_by_field_name("body")
    condition = right.parent
    assert body is not None
    assert condition is not None
    if any(
        one.type != "call_expression" and counter in changed_by(one, syntax) for one in walk(body)
    ):
        raise _UnfitError(loop, "changes its counter in its body")
    extent, is_sure = counted_extent(target, loop, counter, body)
    if extent is None:
        raise _UnfitError(loop, "indexes it by more than its counter, or beyond what is unrolled")
    if extent == syntax.text(right):
        raise _UnfitError(loop, "runs to its size already")
    bound = target.edit(condition.start_byte, condition.end_byte, counter + b" < " + extent)
    edits = _guarded(target, loop, counter, bound, b"!(" + syntax.text(condition) + b")", b"break")
    never = b"never exceeds" if operator == b"<" else b"never reaches"
    promise = b"`" + syntax.text(right) + b"` " + _unlike(target, loop, counter, right) + never
    is_sure = is_sure or _is_below(target, loop, right, extent)
    if not is_sure and _says_itself(target, loop):
        raise _UnfitError(loop, "tests its counter before each use")
    most = number_of(extent.decode(errors="replace"), *_at(target, loop))
    if not is_sure and most is not None:
        check_bound(right, most - (operator == b"<="), target)
    return _Bounded(edits, _closed(body), is_sure, promise, extent)


def _head(target: Target, loop: Node) -> tuple[bytes, Node, bytes]:
    """The counter of a loop that counts up, its bound, and the operator between them.

    Raises:
        _UnfitError: it is another loop, or its bound cannot be evaluated once less.
    """
    syntax = target.syntax
    if loop.type != "for_statement":
        raise _UnfitError(loop, "is no `for` loop")
    counter = _counter(target, loop)
    if counter is None:
        raise _UnfitError(loop, "does not count one variable up from a constant")
    condition = loop.child_by_field_name("condition")
    left, operator, right = (
        condition.child_by_field_name(part)
        if condition is not None and condition.type == "binary_expression"
        else None
        for part in ("left", "operator", "right")
    )
    sign = None if operator is None else syntax.text(operator)
    if (
        left is None
        or right is None
        or sign is None
        or left.type != "identifier"
        or syntax.text(left) != counter
        or sign.decode() not in _BOUNDS
        or loop.child_by_field_name("body") is None
    ):
        raise _UnfitError(loop, "does not end by its counter `<` or `<=` a bound alone")
    if not is_pure(right, target):
        calls = any(one.type == "call_expression" for one in walk(right))
        what = "a call for its bound, which" if calls else "a bound that"
        raise _UnfitError(loop, f"has {what} may do more than compute it")
    return counter, right, sign


def _at(target: Target, node: Node) -> tuple[SourceText, SourceLocation]:
    """Where a name of a node is looked up."""
    place = SourceLocation(target.path, node.start_point.row + 1)
    return target.hits[0].case.sources, place


def _says_itself(target: Target, loop: Node) -> bool:
    """Whether a loop asks its counter before each use: the array's size bounds no turns then."""
    uses = [
        one
        for one in own_subscripts(target)
        if any(outer == loop for outer in around(one, "for_statement"))
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
        try:
            return _bounded(target, outer).extent == extent
        except _UnfitError:
            return False
    return False


def _lowered(target: Target, loop: Node) -> _Bounded | None:
    """A loop that counts down from what is no constant; None of others.

    Raises:
        _UnfitError: it is one, but gets no bound.
    """
    head, body = falling(loop, target), loop.child_by_field_name("body")
    if head is None or body is None:
        return None
    extent, is_sure = counted_extent(target, loop, head.counter, body)
    if extent is None:
        raise _UnfitError(loop, "indexes it by more than its counter, or beyond what is unrolled")
    start = target.syntax.text(head.start)
    begun = target.edit(head.start.start_byte, head.start.end_byte, extent + b" - 1")
    above = head.counter + b" > (" + head.type + b")(" + start + b")"
    edits = _guarded(target, loop, head.counter, begun, above, b"continue")
    begun_at = start if head.is_exact else b"(" + head.type + b")(" + start + b")"
    promise = b"`" + begun_at + b"` never reaches"
    if not is_sure and _says_itself(target, loop):
        raise _UnfitError(loop, "tests its counter before each use")
    return _Bounded(edits, _closed(body), is_sure, promise, extent)


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


def _guarded(
    target: Target, loop: Node, counter: bytes, head: Edit, where: bytes, away: bytes
) -> tuple[Edit, ...]:
    """Edits that unroll a loop of another head, and guard its body.

    Args:
        target: whose file it is.
        loop: to unroll.
        counter: of the loop.
        head: edit of the head.
        where: condition of the turns that were not there before.
        away: what ends these.

    Raises:
        _UnfitError: nothing can stand in its body first.
    """
    syntax, body = target.syntax, loop.child_by_field_name("body")
    if body is None or body.type == "preproc_call" or in_arguments(loop, target):
        raise _UnfitError(loop, "has no body of its own, or is in a macro's arguments")
    if body.type != "compound_statement" and target.meanings.is_several(
        words_of([syntax.text(body)])
    ):
        raise _UnfitError(loop, "has a macro for its body")  # Its first statement is in the loop.
    names = (one for one in walk(body) if one.type == "identifier")
    if any(syntax.text(one) == counter and is_declared_name(one) for one in names):
        raise _UnfitError(loop, "declares another variable of its counter's name")
    if b"\n" in where or b"//" in where:
        raise _UnfitError(loop, "has a bound of several lines, or with a comment")
    opened = _opened(target, loop, body, b"if (" + where + b") " + away + b";")
    if opened is None:
        raise _UnfitError(loop, "has no body that a statement can begin")
    own = (head, opened)
    if any(is_continued(target, syntax.line_start(one.start)) for one in own):
        raise _UnfitError(loop, "is in a line that another continues")
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


REWRITE = Rewrite(
    "bounded-loop",
    frozenset({"rolled-loop", "dynamic-index"}),
    propose,
    __name__,
    nothing="no loop with a bound that varies is read as one whose counter indexes it",
    suits=is_counted,
)
