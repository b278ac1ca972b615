"""The head of a ring: a variable that an array is indexed from, and that steps round it by one."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lmemscope.rewrites.base import DeclinedError
from lmemscope.rewrites.computed import (
    Named,
    UndefinedError,
    UnknownError,
    Value,
    Variables,
    executed,
)
from lmemscope.rewrites.extents import SIGNS, Extents
from lmemscope.rewrites.variables import Number, number_at
from lmemscope.sources.syntax import Syntax, around, walk

if TYPE_CHECKING:
    from tree_sitter import Node

_CHANGES = {"update_expression": "argument", "assignment_expression": "left"}
_BLOCKS = ("compound_statement", "case_statement")
_PLAIN = frozenset(
    (
        "expression_statement",
        "if_statement",
        "condition_clause",
        "else_clause",
        "compound_statement",
        "comment",
        "update_expression",
        "assignment_expression",
        "binary_expression",
        "unary_expression",
        "conditional_expression",
        "parenthesized_expression",
        "number_literal",
        "identifier",
    )
)
_EFFECTS = ((1, True), (-1, True), (1, False), (-1, False))


@dataclass(frozen=True, slots=True)
class Advance:
    """What steps the head once.

    Attributes:
        statements: in order, one behind the other; none where a loop's head does it.
        loop: whose head does it, or None.
        taken: the index that steps it, of ``a[head++] = …`` in the first statement, or None.
    """

    statements: tuple[Node, ...]
    loop: Node | None
    taken: Node | None

    @property
    def parts(self) -> tuple[Node, ...]:
        """The nodes that it consists of."""
        update = None if self.loop is None else self.loop.child_by_field_name("update")
        return self.statements or (() if update is None else (update,))

    def holds(self, node: Node) -> bool:
        """Whether a node is part of it."""
        return any(one.start_byte <= node.start_byte < one.end_byte for one in self.parts)


@dataclass(frozen=True)
class Head:
    """A head.

    Attributes:
        number: the variable.
        name: its name.
        advances: all that change it.
        by: 1 or -1: what each of them adds to it.
        is_wrapped: whether it stays below the array's extent; else it counts on, and indices wrap.
    """

    number: Number
    name: bytes
    advances: tuple[Advance, ...]
    by: int
    is_wrapped: bool

    def value_of(self, number: int) -> Value:
        """A value of its type."""
        return Value(number).to(self.number.is_signed, self.number.bits)

    def values(self, size: int, literals: frozenset[int]) -> Iterator[Value]:
        """Values that it may have, as many as tell, near some numbers among them."""
        bits = self.number.bits
        if self.is_wrapped:
            tried = set(range(size))
        else:
            tried = {*range(min(size, 40)), size - 1, size, size + 1, 3 * size + 1, 1 << 20}
            tried |= {near for one in literals for near in (one - 1, one, one + 1)}
            if self.number.is_signed:
                tried |= {-1, -2, 1 - size, -size, -size - 1}
            else:
                tried |= {(1 << bits) - near for near in (1, 2, size, size + 1)}
                tried = {one for one in tried if one >= 0}
        for one in sorted(tried):
            yield Value(one).to(self.number.is_signed, bits)


def is_of(node: Node, number: Number, syntax: Syntax) -> bool:
    """Whether an identifier means a variable."""
    if node.type != "identifier" or syntax.text(node) != syntax.text(number.name):
        return False
    found = number_at(syntax.text(node), node, syntax)
    return found is not None and found.name == number.name


def head_of(number: Number, extents: Extents, syntax: Syntax) -> Head:
    """A variable as the head of an array of some extent.

    Raises:
        DeclinedError: it does not step round it by one.
    """
    name = syntax.text(number.name)
    advances: list[Advance] = []
    for node in changes_of(number, syntax):
        if not any(one.holds(node) for one in advances):
            advances.append(_advance(node, name, syntax))
    found = set(_EFFECTS)
    for one in advances:
        found &= _effects(one, number, extents, syntax)
        if not found:
            line = one.parts[0].start_point.row + 1
            spelled = name.decode(errors="replace")
            raise DeclinedError(f"line {line} does not step `{spelled}` round it by one")
    if not advances:
        raise DeclinedError(f"`{name.decode(errors='replace')}` is never stepped")
    by, is_wrapped = next(one for one in _EFFECTS if one in found)
    return Head(number, name, tuple(advances), by, is_wrapped)


def changes_of(number: Number, syntax: Syntax) -> Iterator[Node]:
    """What changes a variable, its declaration aside."""
    for node in walk(number.scope):
        changed = node.child_by_field_name(_CHANGES[node.type]) if node.type in _CHANGES else None
        if changed is not None and is_of(changed, number, syntax):
            yield node


def following(statement: Node, name: bytes, syntax: Syntax) -> tuple[Node, ...]:
    """The statements directly behind one that change nothing but a variable."""
    found: list[Node] = []
    node = statement.next_named_sibling
    if statement.parent is None or statement.parent.type not in _BLOCKS:
        return ()
    while node is not None:
        if node.type != "comment":
            if not _changes_only(node, name, syntax):
                break
            found.append(node)
        node = node.next_named_sibling
    return tuple(found)


def _advance(node: Node, name: bytes, syntax: Syntax) -> Advance:
    above = node.parent
    while above is not None and above.type == "comma_expression":
        above = above.parent
    if above is not None and above.type == "for_statement":
        update = above.child_by_field_name("update")
        if update is not None and update.start_byte <= node.start_byte < update.end_byte:
            return Advance((), above, None)
    if (taken := _taken(node, name, syntax)) is not None:
        return Advance((taken, *following(taken, name, syntax)), None, node)
    statement = next(around(node, "expression_statement", "if_statement"), node)
    for wider in around(statement, "if_statement"):
        asked = wider.child_by_field_name("condition")
        if not _changes_only(wider, name, syntax) or asked is None:
            break
        if not any(syntax.text(one) == name for one in walk(asked)):
            break
        statement = wider
    if not _changes_only(statement, name, syntax):
        line, own = node.start_point.row + 1, f"`{name.decode(errors='replace')}`"
        if _changed(statement, syntax) == {name}:
            raise DeclinedError(f"line {line} changes {own} by more than numbers and variables")
        raise DeclinedError(f"line {line} changes {own} and more")
    return Advance((statement, *following(statement, name, syntax)), None, None)


def _taken(node: Node, name: bytes, syntax: Syntax) -> Node | None:
    """The statement ``a[head++] = …;`` whose index a step is."""
    given = node.parent
    if node.type != "update_expression" or given is None:
        return None
    subscript = given.parent
    if given.type != "subscript_argument_list" or subscript is None:
        return None
    assigned = subscript.parent
    if assigned is None or assigned.type != "assignment_expression" or assigned.parent is None:
        return None
    right = assigned.child_by_field_name("right")
    if assigned.child_by_field_name("left") != subscript or right is None:
        return None
    if syntax.text(node)[-2:] not in (b"++", b"--"):
        return None
    if any(syntax.text(one) == name for one in walk(right)):
        return None
    return assigned.parent if assigned.parent.type == "expression_statement" else None


def _changes_only(node: Node, name: bytes, syntax: Syntax) -> bool:
    """Whether a statement only computes and changes a variable."""
    found = False
    for one in walk(node):
        if one.is_named and one.type not in _PLAIN:
            return False
        if one.type in _CHANGES:
            changed = one.child_by_field_name(_CHANGES[one.type])
            if changed is None or syntax.text(changed) != name:
                return False
            found = True
    return found


def _changed(node: Node, syntax: Syntax) -> set[bytes]:
    """What a statement changes, and what it calls."""
    found: set[bytes] = set()
    for one in walk(node):
        field = "function" if one.type == "call_expression" else _CHANGES.get(one.type)
        changed = None if field is None else one.child_by_field_name(field)
        if changed is not None:
            found.add(syntax.text(changed))
    return found


def _effects(
    advance: Advance, number: Number, extents: Extents, syntax: Syntax
) -> set[tuple[int, bool]]:
    """What it may be taken to add, and whether round the array, whatever the extent is."""
    found = set(_EFFECTS)
    literals = frozenset(
        int(text)
        for part in advance.parts
        for one in walk(part)
        if one.type == "number_literal" and (text := syntax.text(one)).isdigit()
    )
    for size in extents.sizes:
        further = Head(number, b"", (), 1, False).values(size, literals)
        values = {*range(size), *(one.number for one in further)}
        for is_signed, before in itertools.product(SIGNS, sorted(values)):
            after = _after(advance, number, before, extents.named(size, is_signed), syntax)
            found = {
                (by, is_round)
                for by, is_round in found
                if after is not None and _is_step(before, after, by, size, number, is_round)
            }
    return found


def _is_step(before: int, after: int, by: int, size: int, number: Number, is_round: bool) -> bool:
    """Whether a head is stepped so; where it stays in the array, only from there."""
    if is_round:
        return not 0 <= before < size or after == (before + by) % size
    return after == Value(before + by).to(number.is_signed, number.bits).number


def _after(
    advance: Advance, number: Number, before: int, named: Named, syntax: Syntax
) -> int | None:
    """The variable's value behind it; None where that cannot be computed."""
    name, value = syntax.text(number.name), Value(before).to(number.is_signed, number.bits)
    own = Variables({name: value})
    rest = advance.parts
    if advance.taken is not None:
        rest = (advance.taken, *rest[1:])
    if advance.loop is not None:
        rest = tuple(
            one
            for one in _listed(rest[0])
            if any(syntax.text(inner) == name for inner in walk(one))
        )
    try:
        executed(rest, syntax, named, own)
    except (UndefinedError, UnknownError):
        return None
    return own.values[name].number


def _listed(node: Node) -> Iterator[Node]:
    """The expressions of a list with commas."""
    if node.type != "comma_expression":
        yield node
        return
    for side in ("left", "right"):
        inner = node.child_by_field_name(side)
        if inner is not None:
            yield from _listed(inner)
