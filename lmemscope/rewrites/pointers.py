"""Local pointers: how they are declared, and declared as something else."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lmemscope.model import Edit
from lmemscope.rewrites.base import DeclinedError
from lmemscope.rewrites.declarations import Part, taken_apart
from lmemscope.rewrites.places import local_of
from lmemscope.sources.syntax import (
    BRANCHES,
    FUNCTIONS,
    Declared,
    Syntax,
    around,
    first_named,
    walk,
)

if TYPE_CHECKING:
    from tree_sitter import Node

_BLOCKS = ("compound_statement", "case_statement")
_LOOP = "for_statement"
_LISTS = ("argument_list", "initializer_list")
_HEAD = re.compile(rb"[\w\s:<>,]+")
_STORED = frozenset(
    b"static extern register thread_local constexpr constinit volatile typedef mutable void"
    b" __shared__ __constant__ __device__ __managed__ decltype".split()
)
_STARS = re.compile(rb"\*\s*((?:(?:const|__restrict__|__restrict|restrict)\s*)*)")
_CONST_AUTO = [b"auto", b"const"]
_WORD = re.compile(rb"\w+")


@dataclass(frozen=True, slots=True)
class Pointer:
    """A local variable that holds places.

    Attributes:
        declared: where.
        element: what it points to as written, without ``const``; empty of ``auto``, whose value
            tells it.
        is_const: whether what it points to is.
        is_fixed: whether the pointer itself is.
        is_starred: whether its declarator has a star.
    """

    declared: Declared
    element: bytes
    is_const: bool
    is_fixed: bool
    is_starred: bool


def pointer_of(declared: Declared, syntax: Syntax) -> Pointer:
    """How a variable that gets a place is declared.

    Raises:
        DeclinedError: in a form that is not rewritten.
    """
    statement = declared.statement
    line = declared.name.start_point.row + 1
    head = syntax.data[statement.start_byte : declared.first.start_byte]
    parent, words = statement.parent, head.split()
    while parent is not None and parent.type in BRANCHES:
        parent = parent.parent
    stars = syntax.data[declared.declarator.start_byte : declared.name.start_byte]
    star = _STARS.fullmatch(stars)
    is_auto = b"auto" in words
    is_read = (
        parent is not None
        and parent.type in (*_BLOCKS, _LOOP)
        and declared.array is None
        and (declared.value is None or declared.value.type not in _LISTS)
        and _HEAD.fullmatch(head) is not None
        and not _STORED.intersection(_WORD.findall(head))
        and (star is not None or (is_auto and not stars))
        and (not is_auto or words == [b"auto"] or (star is None and sorted(words) == _CONST_AUTO))
    )
    if not is_read:
        raise DeclinedError(f"line {line} declares what gets a place of it in another form")
    element = b" ".join(one for one in words if one not in (b"const", b"auto"))
    qualifiers = star[1].split() if star is not None else words
    return Pointer(
        declared,
        element,
        is_const=star is not None and b"const" in words,
        is_fixed=b"const" in qualifiers,
        is_starred=star is not None,
    )


def redeclared(
    path: str, syntax: Syntax, pointers: Sequence[Pointer], types: Mapping[int, bytes]
) -> tuple[Edit, ...]:
    """Declarations of pointers with other types.

    Args:
        path, syntax: of their file.
        pointers: them.
        types: the new type of each, by where its name begins.

    Raises:
        DeclinedError: one cannot be taken out of what else its statement declares.
    """
    found: dict[int, tuple[Node, dict[int, Part]]] = {}
    for one in pointers:
        declared, name = one.declared, one.declared.name.start_byte
        own = found.setdefault(declared.statement.start_byte, (declared.statement, {}))[1]
        own[declared.declarator.start_byte] = Part(types[name] + b" ", name, is_whole=False)
    return tuple(
        edit
        for statement, own in found.values()
        for edit in taken_apart(path, syntax, statement, own)
    )


def points(node: Node, syntax: Syntax) -> bool:
    """Whether an expression is a pointer, as far as its form and local declarations say."""
    node = bare(node)
    if node.type == "identifier":
        return _is_pointer(node, syntax)
    if node.type == "pointer_expression":
        return syntax.text(node)[:1] == b"&"
    if node.type == "update_expression":
        inner = node.child_by_field_name("argument")
        return inner is not None and points(inner, syntax)
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    if node.type == "assignment_expression" and left is not None:
        return points(left, syntax)
    if node.type != "binary_expression" or left is None or right is None:
        return False
    operator = node.child_by_field_name("operator")
    spelled = b"" if operator is None else syntax.text(operator)
    if spelled == b"-":
        return points(left, syntax) and not points(right, syntax)
    return spelled == b"+" and (points(left, syntax) or points(right, syntax))


def _is_pointer(name: Node, syntax: Syntax) -> bool:
    declared = local_of(name, syntax)
    if declared is None:
        return _is_pointer_parameter(name, syntax)
    stars = syntax.data[declared.declarator.start_byte : declared.name.start_byte]
    if declared.declarator.start_byte <= name.start_byte < declared.declarator.end_byte:
        return b"*" in stars
    is_auto = syntax.text(declared.statement).startswith((b"auto", b"const auto"))
    if is_auto and declared.value is not None and not stars:
        return points(declared.value, syntax)
    return b"*" in stars or declared.array is not None


def _is_pointer_parameter(name: Node, syntax: Syntax) -> bool:
    function = next(iter(around(name, *FUNCTIONS)), None)
    wanted = syntax.text(name)
    return function is not None and any(
        b"*" in syntax.text(one) or b"[" in syntax.text(one)
        for one in syntax.parameters(function)
        if any(inner.type == "identifier" and syntax.text(inner) == wanted for inner in walk(one))
    )


def bare(node: Node) -> Node:
    """What stands in parentheses."""
    while node.type == "parenthesized_expression":
        inner = first_named(node)
        if inner is None:
            break
        node = inner
    return node
