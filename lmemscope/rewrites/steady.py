"""Whether only what is seen to change a local number can change it: every use of it is a reading.

A reference, a pointer, a lambda or a macro that has it may change it anywhere. What is not known to
read is taken for one of these.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lmemscope.rewrites.base import Target
from lmemscope.rewrites.variables import Number
from lmemscope.rewrites.written import is_pure_call
from lmemscope.sources.syntax import around, walk

if TYPE_CHECKING:
    from tree_sitter import Node

_PLACES = ("parenthesized_expression", "conditional_expression", "comma_expression")
"""What may give the variable itself, not its value."""
_READING = (
    *("unary_expression", "binary_expression", "subscript_argument_list", "return_statement"),
    *("condition_clause", "for_statement", "do_statement", "expression_statement"),
    *("sizeof_expression", "array_declarator"),
)
_NUMBERS = ("primitive_type", "sized_type_specifier", "placeholder_type_specifier")
_LISTS = ("argument_list", "initializer_list")
_BY_VALUE = re.compile(rb"__\w+|atomic\w+|printf")
"""Functions of the language's own, which take numbers by value."""


def is_steady(number: Number, loop: Node, target: Target, update: Node | None = None) -> bool:
    """Whether nothing in a loop changes a variable, but its update where that is given."""
    uses = _uses(number, target)
    return number.is_const or (
        uses is not None
        and all(
            _is_within(one, update) or _reads(one, target, may_assign=not _is_within(one, loop))
            for one in uses
        )
    )


def assigned(number: Number, target: Target) -> tuple[Node, ...] | None:
    """What is assigned to a variable by its name; None where anything else may change it."""
    found: list[Node] = []
    uses = () if number.is_const else _uses(number, target)
    for node in uses or ():
        above = node.parent
        if above is not None and above.type == "assignment_expression":
            left, operator, right = (
                above.child_by_field_name(one) for one in ("left", "operator", "right")
            )
            is_plain = operator is None or target.syntax.text(operator) == b"="
            if left == node and right is not None and is_plain:
                found.append(right)
                continue
        if not _reads(node, target, may_assign=False):
            return None
    return None if uses is None else tuple(found)


def _uses(number: Number, target: Target) -> tuple[Node, ...] | None:
    """Where a variable is named behind its declaration; None where something may hide a use."""
    syntax = target.syntax
    name = syntax.text(number.name)
    if number.is_const:
        return ()
    if name in syntax.macros or name in _words_of_macros(target):
        return None
    found: list[Node] = []
    for node in walk(number.scope):
        if syntax.text(node) != name or node == number.name:
            continue
        if node.type == "type_identifier":
            return None  # `int &m(n)` reads as a function's declaration.
        if node.type != "identifier":
            continue
        for inside in around(node, "lambda_expression", "gnu_asm_expression"):
            if inside.start_byte >= number.scope.start_byte:
                return None
        found.append(node)
    return tuple(found)


def _words_of_macros(target: Target) -> frozenset[bytes]:
    meanings = target.meanings
    return frozenset(re.findall(rb"[A-Za-z_]\w*", meanings.definitions(meanings.words)))


def _reads(name: Node, target: Target, *, may_assign: bool) -> bool:
    """Whether a use takes a variable's value, or assigns to it by its name where that may be."""
    syntax = target.syntax
    node, above = name, name.parent
    while above is not None and above.type in _PLACES:
        node, above = above, above.parent
    if above is None:
        return False
    if above.type == "binary_expression":
        # What is no number may have operators that take references: streams do.
        operator = above.child_by_field_name("operator")
        sides = [above.child_by_field_name(side) for side in ("left", "right")]
        is_shift = operator is None or syntax.text(operator) in (b"<<", b">>")
        if operator is not None and any(
            one.taking != "const"
            for one in target.meanings.references(b"operator" + syntax.text(operator), b"int")
        ):
            return False
        return not is_shift or any(
            one is not None and one.type == "number_literal" for one in sides
        )
    if above.type in _READING:
        return True
    if above.type in ("update_expression", "assignment_expression"):
        is_left = above.type == "update_expression" or node == above.child_by_field_name("left")
        return not is_left or (may_assign and node == name)
    if above.type == "cast_expression":
        kind = above.child_by_field_name("type")
        return kind is not None and b"&" not in syntax.text(kind)
    if above.type in _LISTS and above.parent is not None:
        given = [one for one in above.named_children if one.type != "comment"]
        position = next((at for at, one in enumerate(given) if one == node), None)
        above, node = above.parent, above
        if above.type == "call_expression":
            return position is not None and _takes_value(above, position, target)
    return above.type in ("init_declarator", "declaration") and _makes_number(above, node)


def _makes_number(declarator: Node, value: Node) -> bool:
    """Whether an initializer makes a number, or an array of them: no reference, and no object."""
    if declarator.child_by_field_name("value") != value:
        return False
    named = declarator.child_by_field_name("declarator")
    statement = declarator.parent if declarator.type == "init_declarator" else declarator
    kind = None if statement is None else statement.child_by_field_name("type")
    if named is None or kind is None or kind.type not in _NUMBERS:
        return False
    is_deduced = kind.type == "placeholder_type_specifier"
    if is_deduced and (value.type in _LISTS or b"decltype" in (kind.text or b"")):
        return False
    return named.type in ("identifier", "array_declarator")


def _takes_value(call: Node, position: int, target: Target) -> bool:
    called = call.child_by_field_name("function")
    if called is None:
        return False
    text = target.syntax.text(called)
    name = re.split(rb"<|::|\.|->", text.partition(b"<")[0])[-1].strip()
    taking = target.meanings.taking_at(name, position)
    if b"&" in text or {"mutable", "anything", "const"} & taking:
        return False
    if target.meanings.definitions((name,)):
        return False
    is_seen = bool(target.meanings.reached((name,)))  # A call reads as a declaration, too.
    return is_seen or is_pure_call(call, target) or _BY_VALUE.fullmatch(name) is not None


def _is_within(node: Node, outer: Node | None) -> bool:
    if outer is None:
        return False
    return outer.start_byte <= node.start_byte and node.end_byte <= outer.end_byte
