"""Local whole numbers that an index is made of: where they are declared, and what changes them."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lmemscope.sources.syntax import BRANCHES, FUNCTIONS, Syntax, first_named, walk

if TYPE_CHECKING:
    from tree_sitter import Node

_SIGNED = re.compile(
    rb"(?:signed )?(?:char|short|int|long|long int|long long|long long int)|signed"
    rb"|(?:std::)?(?:int(?:8|16|32|64)_t|ptrdiff_t|ssize_t)"
)
_UNSIGNED = re.compile(
    rb"unsigned(?: (?:char|short|int|long|long int|long long|long long int))?"
    rb"|(?:std::)?(?:uint(?:8|16|32|64)_t|size_t)|uint|uchar|ushort|ulong"
)
_BITS = tuple(
    (re.compile(words), bits)
    for words, bits in ((rb"long|64|size_t|ptrdiff_t", 64), (rb"char|8", 8), (rb"short|16", 16))
)
_CHANGING = {
    "update_expression": "argument",
    "assignment_expression": "left",
    "pointer_expression": "argument",
}


CONDITIONAL = ("if_statement", "while_statement", "switch_statement", "for_range_loop")
"""Statements that may declare something in their heads."""


def is_in_head(statement: Node, name: bytes, syntax: Syntax) -> bool:
    """Whether the head of a statement, as of `CONDITIONAL`, may declare a name."""
    given = [statement.child_by_field_name(one) for one in ("condition", "declarator")]
    given.append(statement.child_by_field_name("initializer"))
    heads = [one for one in given if one is not None]
    if statement.type != "for_range_loop":
        heads = [one for head in heads for one in walk(head) if one.type.endswith("declaration")]
    return any(_has(one, name, syntax) for one in heads)


@dataclass(frozen=True, slots=True)
class Number:
    """A local variable that is a whole number.

    Attributes:
        name: the name in its declaration.
        scope: what it is known in.
        value: its initializer, or None.
        is_signed: whether its type is signed.
        bits: of its type, which arithmetic promotes to 32 at least.
        is_const: whether it may change.
    """

    name: Node
    scope: Node
    value: Node | None
    is_signed: bool
    bits: int
    is_const: bool

    @property
    def is_wide(self) -> bool:
        """Whether its type has 64 bits."""
        return self.bits == 64


@functools.lru_cache(maxsize=4096)
def number_at(name: bytes, place: Node, syntax: Syntax) -> Number | None:
    """The variable that a name means at a place; None where it is no plain local whole number."""
    node = place
    while node.parent is not None:
        above = node.parent
        if above.type in ("compound_statement", "case_statement"):
            before = [one for one in above.named_children if one.start_byte < node.start_byte]
            if any(one.type.startswith("preproc_if") and _has(one, name, syntax) for one in before):
                return None  # A branch may declare it.
            declared = [one for one in before if one.type == "declaration"]
            if node.type == "declaration":
                declared.append(node)
            for one in reversed(declared):
                found = _declared(one, name, above, syntax, place.start_byte)
                if found is not None:
                    return found[0]
        elif above.type in BRANCHES and any(
            _has(one, name, syntax)
            for one in above.named_children
            if one.type == "declaration" and one.start_byte <= node.start_byte
        ):
            return None
        elif above.type == "for_statement":
            start = above.child_by_field_name("initializer")
            if start is not None and start.type == "declaration":
                found = _declared(start, name, above, syntax, place.start_byte)
                if found is not None:
                    return found[0]
        elif above.type == "for_range_loop" or above.type in FUNCTIONS:
            return _parameter(above, name, syntax)
        elif above.type in CONDITIONAL and is_in_head(above, name, syntax):
            return None
        node = above
    return None


@dataclass(frozen=True, slots=True)
class Head:
    """The head of a ``for`` that compares a variable with a bound, and steps it by one.

    Attributes:
        counter: the variable.
        start: what the loop declares it with; None where it does not.
        initial: what the head does first.
        sign, bound: of the comparison.
        condition, update: of the head.
        step: 1 or -1.
    """

    counter: bytes
    start: Node | None
    initial: Node
    sign: bytes
    bound: Node
    condition: Node
    update: Node
    step: int


def head_of(loop: Node, syntax: Syntax) -> Head | None:
    """A loop's head; None of another form."""
    given = (loop.child_by_field_name(one) for one in ("initializer", "condition", "update"))
    initial, condition, update = given
    if loop.type != "for_statement" or initial is None or condition is None or update is None:
        return None
    step = step_of(update, syntax)
    sides = [condition.child_by_field_name(one) for one in ("left", "operator", "right")]
    left, operator, bound = sides
    if condition.type != "binary_expression" or step is None:
        return None
    if left is None or operator is None or bound is None or syntax.text(left) != step[0]:
        return None
    made = initial.children_by_field_name("declarator") if initial.type == "declaration" else []
    start = None
    if len(made) == 1 and made[0].type == "init_declarator":
        name = made[0].child_by_field_name("declarator")
        if name is not None and syntax.text(name) == step[0]:
            start = made[0].child_by_field_name("value")
    sign = syntax.text(operator)
    return Head(step[0], start, initial, sign, bound, condition, update, step[1])


def step_of(node: Node, syntax: Syntax) -> tuple[bytes, int] | None:
    """A variable and what an expression counts it by, 1 or -1; None of other expressions."""
    text = syntax.text(node).replace(b" ", b"")
    found = re.fullmatch(rb"(?:\+\+|--)(\w+)|(\w+)(?:\+\+|--)", text)
    if found is not None and node.type == "update_expression":
        return (found[1] or found[2]), (1 if b"+" in text else -1)
    if node.type != "assignment_expression":
        return None
    if (one := re.fullmatch(rb"(\w+)([+-])=1", text)) is not None:
        return one[1], (1 if one[2] == b"+" else -1)
    if (one := re.fullmatch(rb"(\w+)=\(?\1([+-])1\)?", text)) is not None:
        return one[1], (1 if one[2] == b"+" else -1)
    if (one := re.fullmatch(rb"(\w+)=\(?1\+\1\)?", text)) is not None:
        return one[1], 1
    return None


def changed_by(node: Node, syntax: Syntax) -> tuple[bytes, ...]:
    """Variables that an expression itself may change, what it calls included."""
    if node.type == "call_expression":
        given = node.child_by_field_name("arguments")
        inside = () if given is None else given.named_children
        return tuple(syntax.text(one) for one in inside if one.type == "identifier")
    field = _CHANGING.get(node.type)
    if field is None:
        return ()
    changed = node.child_by_field_name(field)
    while changed is not None and changed.type == "parenthesized_expression":
        changed = first_named(changed)
    return () if changed is None else (syntax.text(changed),)


def _declared(
    statement: Node, name: bytes, scope: Node, syntax: Syntax, before: int
) -> tuple[Number | None] | None:
    """The variable if a statement declares it before a byte, None in it if it is no such number."""
    for declarator in statement.children_by_field_name("declarator"):
        if declarator.start_byte > before:
            continue
        named = [
            one
            for one in walk(declarator)
            if one.type == "identifier" and syntax.text(one) == name and _is_named(one, declarator)
        ]
        if not named:
            continue
        value = (
            declarator.child_by_field_name("value")
            if declarator.type == "init_declarator"
            else None
        )
        plain = declarator if declarator.type != "init_declarator" else named[0]
        if plain != named[0] or named[0].parent not in (declarator, statement):
            return (None,)
        first = statement.children_by_field_name("declarator")[0]
        head = syntax.code[statement.start_byte : first.start_byte]
        return (_number(named[0], head, scope, value),)
    return None


def _parameter(function: Node, name: bytes, syntax: Syntax) -> Number | None:
    for one in syntax.parameters(function):
        declarator = one.child_by_field_name("declarator")
        if declarator is None or declarator.type != "identifier":
            continue
        if syntax.text(declarator) == name:
            head = syntax.code[one.start_byte : declarator.start_byte]
            return _number(declarator, head, function, None)
    return None


def _number(name: Node, head: bytes, scope: Node, value: Node | None) -> Number | None:
    words = head.split()
    is_const = b"const" in words or b"constexpr" in words
    kind = b" ".join(w for w in words if w not in (b"const", b"constexpr", b"register"))
    is_signed = _SIGNED.fullmatch(kind) is not None
    if not is_signed and _UNSIGNED.fullmatch(kind) is None:
        return None
    bits = next((bits for words, bits in _BITS if words.search(kind) is not None), 32)
    return Number(name, scope, value, is_signed, bits, is_const)


def _is_named(node: Node, declarator: Node) -> bool:
    """Whether a name is what a declarator declares: not part of an initializer or of a size."""
    while node != declarator:
        above = node.parent
        if above is None or node in (
            above.child_by_field_name("value"),
            above.child_by_field_name("size"),
        ):
            return False
        node = above
    return True


def _has(node: Node, name: bytes, syntax: Syntax) -> bool:
    return any(one.type == "identifier" and syntax.text(one) == name for one in walk(node))
