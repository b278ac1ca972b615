"""An array turned into a small class with ``get`` and ``set``: what each of its uses becomes.

Reading stays as it is where the array has one dimension, for the class has an ``operator[]`` that
returns a value: so whatever needs the element itself, such as a pointer or a reference to it, does
not compile, and is not offered.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from lmemscope.model import Edit
from lmemscope.rewrites.arrays import (
    LocalArray,
    Use,
    has_side_effects,
    is_reference_to_element,
)
from lmemscope.sources.syntax import around

if TYPE_CHECKING:
    from tree_sitter import Node

_STATEMENTS = ("expression_statement", "for_statement", "comma_expression")
_FORWARDS = re.compile(rb"\(([^()]|\([^()]*\))*&&")


def accessor_edits(array: LocalArray, sources: Iterable[bytes]) -> tuple[Edit, ...] | None:
    """The edits of all uses; None where one of them cannot be told to mean the same.

    Args:
        array: that becomes a class.
        sources: text of the files in which functions that take its elements may be declared.
    """
    rewriter = _Rewriter(array)
    edits: list[Edit] = []
    for use in array.uses:
        if use.kind == "size":
            continue
        if (
            use.kind == "other"
            or is_reference_to_element(use)
            or _is_forwarded(use, array, sources)
        ):
            return None
        made = rewriter.edits(use)
        if made is None:
            return None
        edits += made
    return _joined(edits)


def _joined(edits: list[Edit]) -> tuple[Edit, ...] | None:
    """Edits in order, insertions at one place as one; None where an edit lies within another."""
    made: list[Edit] = []
    for edit in sorted(edits):
        last = made[-1] if made else None
        if last is not None and (last.start, last.end) == (edit.start, edit.end):
            if edit.start != edit.end:
                return None
            made[-1] = replace(last, text=last.text + edit.text)
        elif last is not None and edit.start < last.end:
            return None
        else:
            made.append(edit)
    return tuple(made)


class _Rewriter:
    def __init__(self, array: LocalArray) -> None:
        self._array, self._syntax = array, array.syntax
        self._dimensions = len(array.extents)

    def edits(self, use: Use) -> list[Edit] | None:
        element = use.element
        if element is None:
            return None
        if use.kind == "read":
            return self._read(use)
        if self._array.is_const or any(map(has_side_effects, use.indices)):
            # Whether the index or the value comes first is not the same in a call.
            return None
        edit = self._array.target.edit
        name = self._syntax.text(use.name)
        if use.kind == "increment":
            return self._increment(use, name)
        left = use.whole.child_by_field_name("left")
        right = use.whole.child_by_field_name("right")
        operator = use.whole.child_by_field_name("operator")
        if left is None or right is None:
            return None
        given = b"=" if operator is None else self._syntax.text(operator)
        begin = name + b".set(" + self._indices(use) + b", "
        if use.kind == "update":
            begin += self._value(use) + b" " + given.removesuffix(b"=") + b" ("
        closing = b"))" if use.kind == "update" else b")"
        if right.type == "initializer_list":
            return None
        inside = self._inside_indices(use)
        if inside:
            return None
        between = right.start_byte
        return [
            edit(use.whole.start_byte, between, begin),
            edit(right.end_byte, right.end_byte, closing),
        ]

    def _increment(self, use: Use, name: bytes) -> list[Edit] | None:
        operator = use.whole.child_by_field_name("operator")
        if operator is None or self._inside_indices(use):
            return None
        is_postfix = operator.start_byte > use.whole.start_byte
        if is_postfix and not _is_discarded(use.whole):
            return None
        sign = self._syntax.text(operator)[:1]
        text = (
            name + b".set(" + self._indices(use) + b", " + self._value(use) + b" " + sign + b" 1)"
        )
        return [self._array.target.edit(use.whole.start_byte, use.whole.end_byte, text)]

    def _read(self, use: Use) -> list[Edit] | None:
        if self._dimensions == 1 or use.element is None:
            return []
        first, last = use.indices[0], use.indices[-1]
        edit = self._array.target.edit
        made = [
            edit(use.name.end_byte, first.start_byte, b".get("),
            edit(last.end_byte, use.element.end_byte, b")"),
        ]
        for one, other in zip(use.indices, use.indices[1:], strict=False):
            made.append(edit(one.end_byte, other.start_byte, b", "))
        return made

    def _indices(self, use: Use) -> bytes:
        return b", ".join(self._syntax.text(index) for index in use.indices)

    def _value(self, use: Use) -> bytes:
        """The element as it is now."""
        name = self._syntax.text(use.name)
        if self._dimensions == 1:
            return name + b"[" + self._indices(use) + b"]"
        return name + b".get(" + self._indices(use) + b")"

    def _inside_indices(self, use: Use) -> bool:
        """Whether an index holds an element of more dimensions, which is rewritten itself."""
        return self._dimensions > 1 and any(
            index.start_byte <= other.name.start_byte < index.end_byte
            for index in use.indices
            for other in self._array.uses
        )


def _is_discarded(node: Node) -> bool:
    """Whether nobody uses the value of an expression."""
    parent = node.parent
    while parent is not None and parent.type == "comma_expression":
        node, parent = parent, parent.parent
    if parent is None:
        return False
    if parent.type == "for_statement":
        return parent.child_by_field_name("condition") != node
    return parent.type == "expression_statement"


def _is_forwarded(use: Use, array: LocalArray, sources: Iterable[bytes]) -> bool:
    """Whether an element itself is an argument of a function that takes what ``&&`` binds to."""
    element = use.element
    if element is None or use.kind != "read":
        return False
    for call in around(element, "call_expression", "expression_statement", "declaration"):
        if call.type != "call_expression":
            return False
        given = call.child_by_field_name("arguments")
        if given is None or not any(one == element for one in given.named_children):
            continue
        called = call.child_by_field_name("function")
        words = re.findall(rb"[A-Za-z_]\w*", array.syntax.text(called)) if called else []
        if not words:
            return True
        declares = re.compile(rb"\b" + words[-1] + rb"\s*" + _FORWARDS.pattern)
        return any(declares.search(text) for text in sources)
    return False
