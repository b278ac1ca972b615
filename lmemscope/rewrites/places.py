"""Places in an array: from its first element on, or back from its extent, which may be a name."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lmemscope.rewrites.variables import CONDITIONAL, is_in_head
from lmemscope.sources.syntax import FUNCTIONS, Declared, Syntax, around, outermost, walk

if TYPE_CHECKING:
    from tree_sitter import Node


@dataclass(frozen=True, slots=True)
class Extent:
    """An array's outermost extent.

    Attributes:
        text: as written.
        number: what it is, where it is written as a number.
    """

    text: bytes
    number: int | None

    @property
    def whole(self) -> bytes:
        """As a signed number in an expression: an unsigned one would turn comparisons round."""
        return self.text if self.number is not None else b"int(" + self.text + b")"


@dataclass(frozen=True, slots=True)
class Place:
    """An element's index.

    Attributes:
        offset: from the first element, or from the extent.
        extent: that it is counted back from, or None.
    """

    offset: int
    extent: Extent | None = None

    def text(self, beyond: int = 0) -> bytes:
        """The index of what is some elements behind it."""
        offset = self.offset + beyond
        if self.extent is None:
            return b"%d" % offset
        if self.extent.number is not None:
            return b"%d" % (self.extent.number + offset)
        return moved(self.extent.whole, offset)


def moved(base: bytes, offset: int) -> bytes:
    """An expression, and so much more or less."""
    if not offset:
        return base
    return base + (b" + %d" if offset > 0 else b" - %d") % abs(offset)


def extent_of(array: Node, syntax: Syntax) -> Extent | None:
    """The outermost extent of an array's declarator; None where it has none."""
    inner = array
    while (below := inner.child_by_field_name("declarator")) is not None:
        if below.type != "array_declarator":
            break
        inner = below
    size = inner.child_by_field_name("size")
    if size is None:
        return None
    text = syntax.text(size)
    return Extent(text, int(text) if text.isdigit() and text[:1] != b"0" else None)


def array_at(name: bytes, place: Node, syntax: Syntax) -> Node | None:
    """The declarator of the local array that a name means at a place; None where it is none."""
    node = place
    while node.parent is not None:
        above = node.parent
        if above.type in CONDITIONAL and is_in_head(above, name, syntax):
            return None
        if above.type == "lambda_expression" and _is_own(above, name, syntax):
            return None
        for one in above.named_children if above.type in _HOLDING else ():
            if one.start_byte >= node.start_byte:
                continue
            if one.type == "declaration" and (found := _of(one, name, syntax)):
                return found[0]
            if one.type.startswith("preproc_if") and name in _names(one, syntax):
                return None
        node = above
    return None


def local_of(name: Node, syntax: Syntax) -> Declared | None:
    """The local variable that a name means where it stands; None where that is not certain.

    A function's parameter is none, and neither is what another of the function's parameters or
    lambdas may be.
    """
    return local_named(syntax.text(name), name, syntax)


def local_named(text: bytes, place: Node, syntax: Syntax) -> Declared | None:
    """The same of a name that a macro makes at a place."""
    function = outermost(place, FUNCTIONS)
    if function is None:
        return None
    found: list[Declared] = []
    for one in walk(function):
        if one.type != "identifier" or syntax.text(one) != text or not is_declared_name(one):
            continue
        declared = syntax.declared_by(one)
        if declared is None:
            return None
        if one.start_byte <= place.start_byte < declared.scope.end_byte:
            found.append(declared)
    return max(found, key=lambda one: one.scope.start_byte) if found else None


def is_declared_again(text: bytes, declared: Declared, syntax: Syntax) -> bool:
    """Whether a name in an array's extent is another one's, too, behind the array's declaration."""
    wanted = set(re.findall(rb"[A-Za-z_]\w*", text))
    return any(
        node.type in ("identifier", "type_identifier")
        and node.start_byte >= declared.statement.end_byte
        and syntax.text(node) in wanted
        and is_declared_name(node)
        for node in walk(declared.scope)
    )


def is_declared_name(name: Node) -> bool:
    """Whether a name is declared where it stands."""
    parent = name.parent
    if parent is None:
        return True
    if name.type == "type_identifier":
        own = [parent.child_by_field_name(one) for one in ("name", "declarator")]
        return parent.type in _TYPES and name in own
    if parent.type == "enumerator":
        return name == parent.child_by_field_name("name")
    if parent.type == "for_range_loop":
        return name == parent.child_by_field_name("declarator")
    if parent.type in _DECLARING:
        return True
    given = (parent.child_by_field_name("value"), parent.child_by_field_name("size"))
    return parent.type.endswith("declarator") and name not in given


def _is_own(function: Node, name: bytes, syntax: Syntax) -> bool:
    """Whether a name is a lambda's parameter, or a capture that it initializes."""
    heads = (function.child_by_field_name(one) for one in ("declarator", "captures"))
    inside = (one for head in heads if head is not None for one in walk(head))
    return any(
        one.type == "identifier" and syntax.text(one) == name and is_declared_name(one)
        for one in inside
        if any(True for _ in around(one, *_GIVING))
    )


_TYPES = ("alias_declaration", "type_definition", "struct_specifier", "class_specifier")
_GIVING = ("parameter_list", "lambda_capture_initializer")
_DECLARING = (
    *("declaration", "parameter_declaration", "lambda_capture_initializer"),
    "optional_parameter_declaration",
)
_SUBSCRIPT = "subscript_expression"
_HOLDING = ("compound_statement", "case_statement", "for_statement")


def _of(statement: Node, name: bytes, syntax: Syntax) -> tuple[Node | None] | None:
    """The array if a statement declares something of a name; None in it of what is no array."""
    head = syntax.code[
        statement.start_byte : statement.children_by_field_name("declarator")[0].start_byte
    ]
    for declarator in statement.children_by_field_name("declarator"):
        node: Node | None = declarator
        array = None
        while node is not None and node.type != "identifier":
            array = node if node.type == "array_declarator" and array is None else array
            is_plain = node.type in ("array_declarator", "init_declarator")
            node = node.child_by_field_name("declarator") if is_plain else None
        if node is not None and syntax.text(node) == name:
            return (None if b"__shared__" in head else array,)
        if node is None and name in _names(declarator, syntax):
            return (None,)
    return None


def _names(node: Node, syntax: Syntax) -> set[bytes]:
    return {syntax.text(one) for one in walk(node) if one.type == "identifier"}


def known_arrays(nodes: tuple[Node, ...], extent: Extent, syntax: Syntax) -> frozenset[bytes]:
    """Local arrays of one extent whose elements some statements use."""
    found = set()
    for node in (one for part in nodes for one in walk(part)):
        array = node.child_by_field_name("argument") if node.type == _SUBSCRIPT else None
        if array is None or array.type != "identifier" or syntax.text(array) in found:
            continue
        declared = array_at(syntax.text(array), node, syntax)
        own = None if declared is None else extent_of(declared, syntax)
        if own == extent and syntax.text(array) not in syntax.macros:
            found.add(syntax.text(array))
    return frozenset(found)


def is_freed(use: Node, syntax: Syntax) -> bool:
    """Whether a use is what ``free`` or ``delete`` gets."""
    above = use.parent
    if above is not None and above.type == "delete_expression":
        return True
    called = above.parent.child_by_field_name("function") if above and above.parent else None
    is_given = above is not None and above.type == "argument_list" and called is not None
    return (
        is_given
        and called is not None
        and syntax.text(called) in (b"free", b"::free", b"std::free")
    )
