"""What asks for the type or the size of a variable: no value is read, and another type may tell."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lmemscope.model.blanked import closed
from lmemscope.sources.syntax import Syntax, around, walk

if TYPE_CHECKING:
    from tree_sitter import Node

_TYPE_OF = re.compile(rb"\b(?:__)?(?:decltype|typeof(?:_unqual)?)(?:__)?\s*\(")
_WHOLE = {
    "subscript_expression": "argument",
    "field_expression": "argument",
    "parenthesized_expression": None,
    "pointer_expression": "argument",
}
"""Expressions that are an array, or a part of it, where this part of them is."""


def asks_type(name: bytes, scope: Node, syntax: Syntax) -> bool:
    """Whether code asks for the type of an expression with a name, or names a type so.

    The grammar takes ``typeof`` for a function or a type, and ``View v(a);`` for the declaration of
    a function that takes an ``a``.
    """
    text = syntax.code_of(scope)
    own = re.compile(rb"\b%b\b" % re.escape(name))
    return any(
        own.search(text, found.end(), closed(text, found.end(), b"()")) is not None
        for found in _TYPE_OF.finditer(text)
    ) or any(one.type == "type_identifier" and syntax.text(one) == name for one in walk(scope))


def is_sized(use: Node, syntax: Syntax) -> bool:
    """Whether ``sizeof`` asks of a variable, or of an element or a member of it, alone.

    A call, an operator or a template between them may have another overload for another type.
    """
    if not any(True for _ in around(use, "sizeof_expression")):
        return False
    node, above = use, use.parent
    while above is not None and above.type in _WHOLE:
        field = _WHOLE[above.type]
        if field is not None and above.child_by_field_name(field) != node:
            return False
        if above.type == "pointer_expression" and syntax.text(above)[:1] != b"*":
            return False
        node, above = above, above.parent
    return above is not None and above.type == "sizeof_expression"
