"""Whether only what is seen to change a local variable can change it: every use of it is a reading.

A reference, a pointer, a lambda or a macro that has it may change it anywhere, or tell its type.
What is not known to read is taken for one of these.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lmemscope.rewrites.base import Target
from lmemscope.rewrites.unevaluated import asks_type
from lmemscope.rewrites.value_uses import takes_value
from lmemscope.rewrites.variables import Number, number_at
from lmemscope.sources.syntax import around, holds, walk

if TYPE_CHECKING:
    from tree_sitter import Node


def is_steady(number: Number, loop: Node, target: Target, update: Node | None = None) -> bool:
    """Whether nothing in a loop changes a variable, but its update where that is given."""
    uses = _uses(number, target)
    return number.is_const or (
        uses is not None
        and all(
            (update is not None and holds(update, one))
            or _reads(number, one, target, may_assign=not holds(loop, one))
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


def _uses(number: Number, target: Target) -> tuple[Node, ...] | None:
    """Where a variable is named behind its declaration; None where something may hide a use."""
    syntax = target.syntax
    name = syntax.text(number.name)
    if number.is_const:
        return ()
    if name in syntax.macros or name in target.meanings.macro_words:
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


def _reads(number: Number, use: Node, target: Target, *, may_assign: bool) -> bool:
    """Whether a use takes a variable's value, or assigns to it by its name where that may be."""
    made = next(around(number.name, "declaration", "parameter_declaration"), None)
    kind = None if made is None else made.child_by_field_name("type")
    element = b"int" if kind is None else target.syntax.text(kind)
    return takes_value(use, element, target, may_assign=may_assign, apart="reference")
