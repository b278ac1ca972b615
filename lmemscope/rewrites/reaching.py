"""Whether code gets from an element of an array to what follows it in memory."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lmemscope.rewrites.arrays import Use, is_reference
from lmemscope.rewrites.meanings import Meanings
from lmemscope.rewrites.places import is_declared_name
from lmemscope.sources.syntax import FUNCTIONS, Syntax, around, outermost, walk

if TYPE_CHECKING:
    from tree_sitter import Node

_WORD = re.compile(rb"[A-Za-z_]\w*")
_THROUGH = {
    "parenthesized_expression": None,
    "field_expression": "argument",
    "assignment_expression": "left",
    "update_expression": "argument",
    "comma_expression": "right",
}
"""Expressions that are what one of their parts is: that element, or something within it."""
_TEMPLATES = ("template_function", "dependent_name")
_HANDING = frozenset((b"max", b"min", b"clamp", b"forward", b"move", b"as_const", b"exchange"))
"""Functions of the standard library that return a reference to what they are given."""
_OWN = re.compile(
    rb"\bthis\s*(?:\+|\[|-(?!>))|(?:\breturn|[^=!<>]=)\s*this\b(?!\s*->)|[(,]\s*this\s*[,)]"
)
"""What a class does with its own address, but to compare it."""


def is_pointed_to(use: Use, syntax: Syntax, meanings: Meanings) -> bool:
    """Whether the address of an element is taken, so that the next one may be reached from it.

    Also by whoever gets the element by reference, or through a reference of another type.
    """
    return use.element is not None and _is_pointed(use.element, syntax, meanings, frozenset())


def steps_on(meanings: Meanings) -> bool:
    """Whether a class of the program gets from one element to the next by itself."""
    return meanings.has(_OWN)


def _is_pointed(node: Node, syntax: Syntax, meanings: Meanings, seen: frozenset[bytes]) -> bool:
    """Whether what an expression stands for has its address taken."""
    node = handed_on(node, syntax)
    above = node.parent
    if above is None:
        return False
    if above.type == "pointer_expression":
        return syntax.text(above)[:1] == b"&"
    if above.type == "binary_expression":
        return _is_cast_address(node, above, syntax, meanings)
    if above.type == "cast_expression":
        to = above.child_by_field_name("type")
        return to is None or is_reference(syntax.text(to), meanings)
    if above.type == "return_statement":
        return returns_reference(above, syntax, meanings)
    if above.type == "init_declarator":
        return _is_named_and_pointed(above, syntax, meanings, seen)
    if above.type in ("argument_list", "initializer_list"):
        return _is_taken(above, syntax, meanings)
    return False


def _is_cast_address(node: Node, above: Node, syntax: Syntax, meanings: Meanings) -> bool:
    """Whether what reads as ``(Type) & a[i]`` casts an address: the name may be one of a type."""
    operator, left = above.child_by_field_name("operator"), above.child_by_field_name("left")
    if left is None or node == left or operator is None or syntax.text(operator) != b"&":
        return False
    if left.type != "parenthesized_expression":
        return False
    words = _WORD.findall(syntax.text(left))
    return len(words) > 0 and meanings.is_type(words[-1])


def same_object(node: Node) -> Node:
    """The outermost expression that is what another one is, or may be: itself, or a part of it."""
    while node.parent is not None and _is_through(node, node.parent):
        node = node.parent
    return node


def handed_on(node: Node, syntax: Syntax) -> Node:
    """The outermost expression that is what another one is, calls of the library included.

    Those that may return what they are given: ``std::max(a[i], x)``.
    """
    node = same_object(node)
    given = node.parent
    call = given.parent if given is not None and given.type == "argument_list" else None
    if call is None or call.type != "call_expression":
        return node
    called = call.child_by_field_name("function")
    text = b"" if called is None else syntax.text(called).partition(b"<")[0]
    if b"::" in text and _WORD.findall(text)[-1] in _HANDING:
        return handed_on(call, syntax)
    return node


def _is_through(node: Node, above: Node) -> bool:
    if above.type == "conditional_expression":
        return node != above.child_by_field_name("condition")
    if above.type not in _THROUGH:
        return False
    field = _THROUGH[above.type]
    return field is None or node == above.child_by_field_name(field)


def returns_reference(returned: Node, syntax: Syntax, meanings: Meanings) -> bool:
    """Whether what a statement returns is returned by reference."""
    made = next(around(returned, *FUNCTIONS), None)
    body = made.child_by_field_name("body") if made is not None else None
    if made is None or body is None:
        return True
    head = syntax.code[made.start_byte : body.start_byte]
    if made.type == "lambda_expression":
        return is_reference(head.partition(b"->")[2], meanings)
    return is_reference(head.partition(b"(")[0], meanings)


def _is_named_and_pointed(
    made: Node, syntax: Syntax, meanings: Meanings, seen: frozenset[bytes]
) -> bool:
    """Whether a declaration binds a reference whose address is taken further down."""
    declarator, statement = made.child_by_field_name("declarator"), made.parent
    if declarator is None or statement is None:
        return False
    kind = statement.child_by_field_name("type")
    is_bound = declarator.type == "reference_declarator" or (
        kind is not None and is_reference(syntax.text(kind), meanings)
    )
    name = syntax.text(declarator).strip(b"& \t")
    if not is_bound or name in seen:
        return False
    function = next(around(made, *FUNCTIONS), made)
    return any(
        _is_pointed(one, syntax, meanings, seen | {name})
        for one in walk(function)
        if one.type == "identifier" and one.start_byte >= made.end_byte and syntax.text(one) == name
    )


def _is_taken(given: Node, syntax: Syntax, meanings: Meanings) -> bool:
    """Whether a function, a macro or a constructor takes the address of what it is given."""
    above = given.parent
    called = None if above is None else above.child_by_field_name("function")
    if above is not None and above.type == "init_declarator" and above.parent is not None:
        called = above.parent.child_by_field_name("type")
    if above is not None and called is None:
        called = above.child_by_field_name("type") or above.child_by_field_name("name")
    if called is None:
        return False
    text = syntax.text(called)
    if text.startswith((b"reinterpret_cast", b"static_cast", b"const_cast")):
        return is_reference(text, meanings)
    is_call = above is not None and above.type == "call_expression"
    if is_call and called.type in ("identifier", "qualified_identifier", *_TEMPLATES):
        kinds = _kinds_of(called, syntax)
        if kinds is None and meanings.is_unseen(text):
            return True
        if kinds is not None and meanings.points_to_taking({text, *kinds}):
            return True
    elif is_call and called.type == "field_expression" and meanings.is_unseen(text):
        return True
    return any(map(meanings.takes_addresses, _WORD.findall(text)))


def _kinds_of(called: Node, syntax: Syntax) -> set[bytes] | None:
    """Words of the type of a variable that is called; None where no variable is."""
    function, name = outermost(called, FUNCTIONS), syntax.text(called)
    found: set[bytes] | None = None
    for one in walk(function) if function is not None else ():
        if one.type == "identifier" and syntax.text(one) == name and is_declared_name(one):
            made = next(around(one, "declaration", "parameter_declaration"), one)
            kind = made.child_by_field_name("type")
            found = (found or set()) | set(
                _WORD.findall(b"" if kind is None else syntax.text(kind))
            )
    return found
