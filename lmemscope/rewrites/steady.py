"""Whether only what is seen to change a local variable can change it: every use of it is a reading.

A reference, a pointer, a lambda or a macro that has it may change it anywhere, or tell its type.
What is not known to read is taken for one of these.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lmemscope.rewrites.arrays import is_reference
from lmemscope.rewrites.base import Target
from lmemscope.rewrites.binding import is_taken
from lmemscope.rewrites.reaching import handed_on
from lmemscope.rewrites.unevaluated import asks_type
from lmemscope.rewrites.variables import Number, number_at
from lmemscope.rewrites.written import is_own, is_pure_call
from lmemscope.sources.syntax import PLAIN_TYPES, Declared, around, walk

if TYPE_CHECKING:
    from tree_sitter import Node

_ASSIGNING = {"update_expression": "argument", "assignment_expression": "left"}
_READING = (
    *("unary_expression", "subscript_argument_list", "return_statement"),
    *("condition_clause", "for_statement", "do_statement", "expression_statement"),
    *("sizeof_expression", "array_declarator"),
)
_NUMBERS = ("primitive_type", "sized_type_specifier", "placeholder_type_specifier")
VECTORS = re.compile(rb"u?(?:char|short|int|long|longlong|float|double)[1-4]")
"""Types of the language's own, whose members are numbers."""
_LISTS = ("argument_list", "initializer_list")
_BY_VALUE = re.compile(rb"__\w+|atomic\w+|printf")
"""Functions of the language's own, which take numbers by value."""


def is_steady(number: Number, loop: Node, target: Target, update: Node | None = None) -> bool:
    """Whether nothing in a loop changes a variable, but its update where that is given."""
    uses = _uses(number, target)
    return number.is_const or (
        uses is not None
        and all(
            _is_within(one, update)
            or _reads(number, one, target, may_assign=not _is_within(one, loop))
            for one in uses
        )
    )


def is_only_named(number: Number, target: Target) -> bool:
    """Whether nothing changes a variable but what assigns to it, or steps it, by its name."""
    uses = _uses(number, target)
    return uses is not None and all(_reads(number, one, target, may_assign=True) for one in uses)


def assigned(number: Number, target: Target) -> tuple[Node, ...] | None:
    """What is assigned to a variable by its name; None where anything else may change it."""
    found: list[Node] = []
    uses = () if number.is_const else _uses(number, target)
    for node in uses or ():
        above = node.parent
        right = None
        if above is not None and above.type == "assignment_expression":
            left, operator = (above.child_by_field_name(one) for one in ("left", "operator"))
            if left == node and (operator is None or target.syntax.text(operator) == b"="):
                right = above.child_by_field_name("right")
        if right is not None:
            found.append(right)
        if not _reads(number, node, target, may_assign=right is not None):
            return None
    return None if uses is None else tuple(found)


def reads(place: Node, element: bytes, target: Target, *, may_assign: bool) -> bool:
    """Whether an expression's value is taken, and nothing else is done with it.

    Args:
        place: a variable's name, or an element or a member of one.
        element: its type.
        target: whose file it is in.
        may_assign: whether it may be assigned to, too.
    """
    syntax = target.syntax
    node, above = place, place.parent
    while above is not None:
        if above.type in _ASSIGNING and above.child_by_field_name(_ASSIGNING[above.type]) == node:
            if node != place or not may_assign:
                return False
            if above.type == "update_expression" and above.children[0] == node:
                return True  # What is read is what it was.
        elif above.type == "conditional_expression":
            if node == above.child_by_field_name("condition"):
                return True
        elif above.type == "comma_expression":
            if node == above.child_by_field_name("left"):
                return True
        elif above.type != "parenthesized_expression":
            break
        node, above = above, above.parent
    if above is None:
        return False
    if above.type != "initializer_list" and is_taken(
        node, syntax, target.meanings, element, by_address=False
    ):
        return False
    if above.type in ("binary_expression", "assignment_expression"):
        return _is_operand(node, above, element, target)
    if above.type in _READING:
        return True
    if above.type == "cast_expression":
        return _is_number(above.child_by_field_name("type"), element, target)
    if above.type in _LISTS and above.parent is not None:
        given = [one for one in above.named_children if one.type != "comment"]
        position = next((at for at, one in enumerate(given) if one == node), None)
        handed = handed_on(node, syntax)
        if handed != node and not reads(handed, element, target, may_assign=False):
            return False  # `std::max` returns a reference.
        above, node = above.parent, above
        if above.type == "call_expression":
            return position is not None and _takes_value(above, position, target)
    return above.type in ("init_declarator", "declaration") and _makes_number(
        above, node, element, target
    )


def place_of(use: Node, declared: Declared, target: Target) -> Node | None:
    """The variable, element or member that a use is; None of an array, and of what is called."""
    syntax, meanings = target.syntax, target.meanings
    kind = declared.statement.child_by_field_name("type")
    element = b"" if kind is None else syntax.text(kind)
    if meanings.is_row(element):
        return None
    missing, node, member, depth = len(declared.extents), use, b"", 0
    while (above := node.parent) is not None:
        if above.type == "parenthesized_expression":
            node = above
            continue
        if above.child_by_field_name("argument") != node:
            break
        is_array = bool(member) and meanings.turns_into_pointer(member, depth)
        if above.type == "subscript_expression" and (missing or is_array):
            missing, depth = max(missing - 1, 0), depth + 1
        elif above.type == "field_expression" and not missing and not is_array:
            field, operator = (above.child_by_field_name(one) for one in ("field", "operator"))
            if field is None or operator is None or syntax.text(operator) != b".":
                break
            member, depth = syntax.text(field), 0
            if VECTORS.fullmatch(element):
                member = b""
        else:
            break
        node = above
    is_called = node.parent is not None and node.parent.type == "call_expression"
    is_array = bool(member) and meanings.turns_into_pointer(member, depth)
    return None if missing or is_array or is_called else node


def _uses(number: Number, target: Target) -> tuple[Node, ...] | None:
    """Where a variable is named behind its declaration; None where something may hide a use."""
    syntax = target.syntax
    name = syntax.text(number.name)
    if number.is_const:
        return ()
    if name in syntax.macros or name in _words_of_macros(target):
        return None
    if asks_type(name, number.scope, syntax):
        return None
    found: list[Node] = []
    for node in walk(number.scope):
        if node.type != "identifier" or syntax.text(node) != name or node == number.name:
            continue
        meant = number_at(name, node, syntax)
        if meant is not None and meant.name != number.name:
            continue
        for inside in around(node, "lambda_expression", "gnu_asm_expression"):
            if inside.start_byte >= number.scope.start_byte:
                return None
        found.append(node)
    return tuple(found)


def _words_of_macros(target: Target) -> frozenset[bytes]:
    meanings = target.meanings
    return frozenset(re.findall(rb"[A-Za-z_]\w*", meanings.definitions(meanings.words)))


def _reads(number: Number, use: Node, target: Target, *, may_assign: bool) -> bool:
    """Whether a use takes a variable's value, or assigns to it by its name where that may be."""
    made = next(around(number.name, "declaration", "parameter_declaration"), None)
    kind = None if made is None else made.child_by_field_name("type")
    element = b"int" if kind is None else target.syntax.text(kind)
    return reads(use, element, target, may_assign=may_assign)


def _is_operand(node: Node, above: Node, element: bytes, target: Target) -> bool:
    """Whether an operator takes a value: of what is no number it may take a reference."""
    operator = above.child_by_field_name("operator")
    sign = b"=" if operator is None else target.syntax.text(operator)
    if any(
        one.taking != "const" for one in target.meanings.references(b"operator" + sign, element)
    ):
        return False
    if sign not in (b"<<", b">>") or node != above.child_by_field_name("right"):
        return True
    left = above.child_by_field_name("left")  # A stream may read into what it gets.
    while left is not None and left.type == "parenthesized_expression":
        left = next(iter(left.named_children), None)
    if left is None or left.type != "identifier":
        return left is not None and left.type != "call_expression"
    return number_at(target.syntax.text(left), left, target.syntax) is not None


def _is_number(kind: Node | None, element: bytes, target: Target) -> bool:
    """Whether a type is one of numbers or pointers, or the variable's own: no reference to it."""
    if kind is None:
        return False
    text = target.syntax.text(kind)
    if is_reference(text, target.meanings):
        return False
    inner = kind.child_by_field_name("type") if kind.type == "type_descriptor" else kind
    return (
        text == element
        or text.rstrip().endswith(b"*")
        or (inner is not None and inner.type in PLAIN_TYPES)
    )


def _makes_number(declarator: Node, value: Node, element: bytes, target: Target) -> bool:
    """Whether an initializer makes a number, or an array of them: no reference, and no object."""
    if declarator.child_by_field_name("value") != value:
        return False
    named = declarator.child_by_field_name("declarator")
    statement = declarator.parent if declarator.type == "init_declarator" else declarator
    kind = None if statement is None else statement.child_by_field_name("type")
    if named is None or kind is None:
        return False
    if kind.type not in _NUMBERS and not _is_number(kind, element, target):
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
    if is_reference(text, target.meanings) or {"mutable", "anything", "const"} & taking:
        return False
    if target.meanings.definitions((name,)):
        return False
    if target.meanings.reached((name,)):  # A call reads as a declaration, too.
        return True
    return is_pure_call(call, target) or (
        _BY_VALUE.fullmatch(name) is not None and not is_own(called, target)
    )


def _is_within(node: Node, outer: Node | None) -> bool:
    if outer is None:
        return False
    return outer.start_byte <= node.start_byte and node.end_byte <= outer.end_byte
