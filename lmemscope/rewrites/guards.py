"""Whether the text itself says how often a loop comes to a use: then the array's size does not.

What a loop uses behind a condition of its own counter says nothing of how often the loop runs: of a
stream's length, of which `if (i < 10)` keeps the first elements, nobody can promise that it is at
most 10.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from lmemscope.sources.syntax import BRANCHES, Syntax, changed, walk

if TYPE_CHECKING:
    from tree_sitter import Node

_CHOOSING = (
    *("if_statement", "conditional_expression", "switch_statement", "while_statement"),
    "do_statement",
)
_LEAVING = ("break_statement", "continue_statement", "return_statement", "goto_statement")
_LOOPS = ("for_statement", "while_statement", "do_statement", "for_range_loop")
_BLOCKS = ("compound_statement", "case_statement")
_INNER = ("subscript_argument_list", "argument_list", "field_expression")
"""What a condition reads through a value does not compare the value."""


def is_guarded(use: Node, loop: Node, syntax: Syntax) -> bool:
    """Whether a loop asks its counter, or what it counts besides, before it comes to a use.

    Args:
        use: in the loop's body.
        loop: around it, a nested one maybe between them.
        syntax: of the file.
    """
    counted = {
        syntax.text(what)
        for one in walk(loop)
        if (what := changed(one)) is not None and what.type == "identifier"
    }
    return any(
        one.type == "identifier" and syntax.text(one) in counted
        for condition in _conditions(use, loop, syntax)
        for one in _compared(condition)
    )


def _conditions(use: Node, loop: Node, syntax: Syntax) -> Iterator[Node]:
    """What decides whether a turn of a loop comes to a use."""
    node = use
    while node.parent is not None and node != loop:
        above = node.parent
        asked = above.child_by_field_name("condition")
        if above.type in (*_CHOOSING, *BRANCHES) and asked is not None and node != asked:
            yield asked
        if above.type == "binary_expression" and node == above.child_by_field_name("right"):
            left, operator = (above.child_by_field_name(one) for one in ("left", "operator"))
            is_lazy = operator is not None and syntax.text(operator) in (b"&&", b"||")
            if left is not None and is_lazy:
                yield left
        if above.type in _BLOCKS:
            for one in above.named_children:
                if one.end_byte <= node.start_byte:
                    yield from _leaving(one)
        node = above


def _leaving(statement: Node) -> Iterator[Node]:
    """The conditions by which a statement passes by what follows it."""
    for one in walk(statement):
        if one.type in _LEAVING and not _ends_within(one, statement):
            node = one
            while node != statement and node.parent is not None:
                node = node.parent
                asked = node.child_by_field_name("condition")
                if node.type in _CHOOSING and asked is not None:
                    yield asked


def _compared(condition: Node) -> Iterator[Node]:
    """What a condition is of, but what it reads through it: of ``x[i] < m``, ``m``."""
    pending = [condition]
    while pending:
        node = pending.pop()
        yield node
        pending += [one for one in node.children if one.type not in _INNER]


def _ends_within(leaving: Node, statement: Node) -> bool:
    """Whether a statement leaves a loop or a `switch` that is in another statement, and no more."""
    if leaving.type not in ("break_statement", "continue_statement"):
        return False
    node = leaving
    while node != statement and node.parent is not None:
        node = node.parent
        if node.type in _LOOPS:
            return True
        if node.type == "switch_statement" and leaving.type == "break_statement":
            return True
    return False
