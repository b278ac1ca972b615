"""Whether an element is taken by reference where no function's name says so.

Operators, constructors that convert, variables that are called and functions of the standard
library that hand on references get an element itself: they may keep its address, change it, or do
something else with what is const.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lmemscope.rewrites.meanings import Meanings
from lmemscope.rewrites.places import is_declared_name
from lmemscope.rewrites.reaching import handed_on
from lmemscope.rewrites.references import Reference
from lmemscope.sources.syntax import FUNCTIONS, PLAIN_TYPES, Syntax, around, outermost, walk

if TYPE_CHECKING:
    from tree_sitter import Node

_WORD = re.compile(rb"[A-Za-z_]\w*")
_KEEPING = frozenset(
    b"minmax tie forward_as_tuple ref cref reference_wrapper addressof __builtin_addressof".split()
)
"""Functions of the standard library whose results keep what they are given by reference."""


def is_taken(
    node: Node,
    syntax: Syntax,
    meanings: Meanings,
    element: bytes,
    *,
    by_address: bool,
    or_const: bool = False,
) -> bool:
    """Whether something that is not called by its name may take an expression by reference.

    Args:
        node: an element of an array, or what assigns to it.
        syntax: of its file.
        meanings: what can be seen around it.
        element: the type of the elements.
        by_address: whether only what may keep its address counts; else what may change it does,
            and what has another overload for a copy or for what is const.
        or_const: whether what takes it by a reference to what is const counts, too.
    """
    node = handed_on(node, syntax)
    above = node.parent
    if above is None:
        return False
    if above.type == "pointer_expression" and node.type == "call_expression":
        return syntax.text(above)[:1] == b"&"
    names, converts = _takers(node, above, syntax, by_address=by_address)
    is_listed = above.type in ("argument_list", "initializer_list") and not names
    if names & _KEEPING or (is_listed and converts and meanings.holds_references()):
        return True
    takers: list[bytes | None] = [*names]
    if is_called_variable(above, syntax):
        takers += (b"operator()", None)
    if converts:
        takers += meanings.classes
    found = (one for name in takers for one in meanings.references(name, element))
    return any(or_const or _counts(one, meanings, by_address=by_address) for one in found)


def _counts(one: Reference, meanings: Meanings, *, by_address: bool) -> bool:
    """Whether how a function takes an element matters."""
    if one.is_kept or meanings.is_held(one.name):
        return True
    return not by_address and one.taking != "const"


def _takers(
    node: Node, above: Node, syntax: Syntax, *, by_address: bool
) -> tuple[set[bytes], bool]:
    """Functions and operators that get an expression, and whether a class may be made of it."""
    operator = above.child_by_field_name("operator")
    spelled = b"=" if operator is None else syntax.text(operator)
    if above.type == "binary_expression":
        return {b"operator" + spelled}, not by_address
    if above.type == "assignment_expression":
        return {b"operator" + spelled}, above.child_by_field_name("right") == node
    if above.type == "subscript_argument_list":
        return {b"operator[]"}, False
    if above.type in ("init_declarator", "optional_parameter_declaration"):
        kind = above.parent.child_by_field_name("type") if above.parent is not None else None
        return set(), kind is None or kind.type not in PLAIN_TYPES
    if above.type == "return_statement":
        return set(), _returns_class(above)
    if above.type in ("argument_list", "initializer_list"):
        called = above.parent.child_by_field_name("function") if above.parent is not None else None
        if called is None:
            return set(), True
        if called.type == "primitive_type":
            return set(), False
        text = re.sub(rb"<.*", b"", syntax.text(called), flags=re.DOTALL)
        return set(_WORD.findall(text)[-1:]), True
    return set(), above.type == "cast_expression"


def _returns_class(returned: Node) -> bool:
    """Whether a function returns what may be made of an element: no plain type is said."""
    made = next(around(returned, *FUNCTIONS), None)
    if made is None:
        return True
    kind = made.child_by_field_name("type")
    if made.type == "lambda_expression":
        declarator = made.child_by_field_name("declarator")
        trailing = () if declarator is None else declarator.named_children
        said = [one for one in trailing if one.type == "trailing_return_type"]
        if not said:
            return False  # What is returned is a copy.
        kind = next((one for one in walk(said[0]) if one.type in PLAIN_TYPES), None)
    return kind is None or kind.type not in PLAIN_TYPES


def is_called_variable(above: Node | None, syntax: Syntax) -> bool:
    """Whether what is called with an expression is a variable: a pointer, or of a class."""
    call = above.parent if above is not None and above.type == "argument_list" else None
    called = call.child_by_field_name("function") if call is not None else None
    if called is None:
        return False
    if called.type not in ("identifier", "parenthesized_expression", "field_expression"):
        return called.type in ("call_expression", "subscript_expression", "lambda_expression")
    if called.type == "parenthesized_expression":
        return True
    if called.type == "field_expression":
        return False
    function = outermost(called, FUNCTIONS)
    name = syntax.text(called)
    if function is None or is_lambda(called, syntax):
        return False  # A lambda is looked up by its name.
    return any(
        one.type == "identifier" and syntax.text(one) == name and is_declared_name(one)
        for one in walk(function)
    )


def is_lambda(called: Node, syntax: Syntax) -> bool:
    """Whether what is called is a lambda, or a variable that a lambda is assigned to around it."""
    if called.type == "lambda_expression":
        return True
    function = outermost(called, FUNCTIONS)
    bound = re.compile(rb"\b%b\s*=\s*\[" % re.escape(syntax.text(called)))
    return function is not None and bound.search(syntax.code_of(function)) is not None
