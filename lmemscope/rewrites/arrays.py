"""A local array as the source writes it: its type, its extents, and every use of it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from lmemscope.rewrites.base import Target
from lmemscope.sources.syntax import Declared, Syntax, around, walk

if TYPE_CHECKING:
    from tree_sitter import Node

UseKind = Literal["read", "assign", "update", "increment", "size", "other"]
"""``update``: a compound assignment. ``increment``: ``++`` and ``--``. ``size``: under ``sizeof``.
``other``: not of a whole element, as a pointer to the array."""

_QUALIFIERS = (
    b"static",
    b"extern",
    b"__shared__",
    b"__constant__",
    b"__device__",
    b"__managed__",
    b"thread_local",
    b"register",
    b"constexpr",
)
_NAMING = (
    "declaration",
    "parameter_declaration",
    "lambda_capture_specifier",
    "labeled_statement",
    "template_argument_list",
)
_SPLIT = re.compile(rb"[A-Za-z_]\w*")
_CHANGING = ("assignment_expression", "update_expression", "call_expression")


@dataclass(frozen=True, slots=True)
class Use:
    """A use of an array.

    Attributes:
        name: the array's name there.
        element: the subscripts' outermost expression, where each extent has one.
        indices: these.
        kind: what is done to the element.
        whole: the expression that does it: the assignment, the increment, or the element.
    """

    name: Node
    element: Node | None
    indices: tuple[Node, ...]
    kind: UseKind
    whole: Node


@dataclass(frozen=True)
class LocalArray:
    """A local array that a rewrite may declare otherwise.

    Attributes:
        target: whose declaration it is.
        declared: where.
        element: its elements' type as written, without qualifiers.
        is_const, is_volatile: whether they are.
        extents: as written; from the variable's type where a declaration leaves one open.
        uses: in order.
    """

    target: Target
    declared: Declared
    element: bytes
    is_const: bool
    is_volatile: bool
    extents: tuple[bytes, ...]
    uses: tuple[Use, ...]

    @property
    def syntax(self) -> Syntax:
        """Of the file that declares it."""
        return self.target.syntax

    @property
    def name(self) -> bytes:
        """Its name."""
        return self.syntax.text(self.declared.name)

    @property
    def numbers(self) -> tuple[int, ...] | None:
        """Its extents in the compiled kernels, where the variable's type has them."""
        return _numbers(self.target.type)

    @property
    def values(self) -> tuple[bytes, ...] | None:
        """The initializer's elements, of an array of one dimension; None without such a list."""
        value = self.declared.value
        if value is None or value.type != "initializer_list":
            return None
        return tuple(self.syntax.text(one) for one in value.named_children if one.type != "comment")


def local_array(target: Target) -> LocalArray | None:
    """The array that a target declares; None where it is none, or hides something.

    What hides something: a declaration with attributes or of other storage, a macro that uses the
    variable, or another variable of its name further in.
    """
    declared, syntax = target.declared, target.syntax
    if declared is None or declared.array is None or declared.statement.type != "declaration":
        return None
    name = syntax.text(declared.name)
    if name in syntax.macros or _is_hidden(declared, syntax):
        return None
    head = syntax.data[declared.statement.start_byte : _first_declarator(declared).start_byte]
    if b"/*" in head or b"//" in head or b"(" in head or b"[[" in head:
        return None
    words = _SPLIT.findall(head)
    if any(word in _QUALIFIERS for word in words) or b"auto" in words:
        return None
    element = re.sub(rb"\b(?:const|volatile)\b", b" ", head)
    stars = syntax.data[declared.declarator.start_byte : declared.name.start_byte]
    if stars.replace(b"*", b"").strip():
        return None  # More than that its elements are pointers.
    if b"*" in stars and len(words) and (b"const" in words or b"volatile" in words):
        element, words = head, []  # What is pointed to is const, not the elements.
    element += b" " + stars
    numbers = _numbers(target.type)
    extents = []
    for position, extent in enumerate(declared.extents):
        if extent is not None:
            extents.append(syntax.text(extent))
        elif numbers is not None and position < len(numbers):
            extents.append(str(numbers[position]).encode())
        else:
            return None
    uses = tuple(_use(node, len(extents), syntax) for node in syntax.uses(declared))
    return LocalArray(
        target,
        declared,
        b" ".join(element.split()),
        b"const" in words,
        b"volatile" in words,
        tuple(extents),
        uses,
    )


def has_side_effects(node: Node) -> bool:
    """Whether evaluating an expression twice, or later, may be another thing than once."""
    return any(one.type in _CHANGING for one in walk(node))


def is_reference_to_element(use: Use) -> bool:
    """Whether a reference is bound to the element, or its type is asked for."""
    if use.element is None:
        return False
    for above in around(
        use.element,
        "init_declarator",
        "call_expression",
        "decltype",
        "for_range_loop",
        "lambda_capture_initializer",
    ):
        if above.type == "decltype":
            return True
        if above.type == "call_expression":
            return False
        declarator = above.child_by_field_name("declarator")
        return declarator is not None and declarator.type == "reference_declarator"
    return False


def _is_hidden(declared: Declared, syntax: Syntax) -> bool:
    """Whether the scope declares another variable of the name."""
    wanted = syntax.text(declared.name)
    for node in walk(declared.scope):
        if node.type != "identifier" or node == declared.name or syntax.text(node) != wanted:
            continue
        parent = node.parent
        if parent is None or not (parent.type in _NAMING or parent.type.endswith("declarator")):
            continue
        if node not in (parent.child_by_field_name("value"), parent.child_by_field_name("size")):
            return True
    return False


def _first_declarator(declared: Declared) -> Node:
    return declared.statement.children_by_field_name("declarator")[0]


def _numbers(written: str | None) -> tuple[int, ...] | None:
    found = re.findall(r"\[(\d+)\]", written or "")
    return tuple(int(number) for number in found) or None


def _use(name: Node, dimensions: int, syntax: Syntax) -> Use:
    if any(True for _ in around(name, "sizeof_expression")):
        return Use(name, None, (), "size", name)
    element = name
    indices: list[Node] = []
    while (
        element.parent is not None
        and element.parent.type == "subscript_expression"
        and element.parent.child_by_field_name("argument") == element
        and len(indices) < dimensions
    ):
        element = element.parent
        given = element.child_by_field_name("indices")
        inside = [] if given is None else [n for n in given.named_children if n.type != "comment"]
        if len(inside) != 1:
            return Use(name, None, (), "other", element)
        indices.append(inside[0])
    if len(indices) != dimensions:
        return Use(name, None, tuple(indices), "other", element)
    inner = element
    while inner.parent is not None and inner.parent.type == "parenthesized_expression":
        inner = inner.parent
    above = inner.parent
    is_assigned = above is not None and above.type == "assignment_expression"
    if above is not None and is_assigned and above.child_by_field_name("left") == inner:
        operator = above.child_by_field_name("operator")
        plain = operator is None or syntax.text(operator) == b"="
        return Use(name, element, tuple(indices), "assign" if plain else "update", above)
    if above is not None and above.type == "update_expression":
        return Use(name, element, tuple(indices), "increment", above)
    return Use(name, element, tuple(indices), "read", element)
