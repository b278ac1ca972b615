"""Find operators in a statement, and the operands passed to overloaded operators.

Precedence is determined by the grammar: tree-sitter's for CUDA.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from lmemscope.formats.statements import closed_at

if TYPE_CHECKING:
    from tree_sitter import Parser

_AROUND = "void f() {"
"""Statements are parsed inside a function."""
_NAMED = re.compile(r"(?:^|::|\s)operator\s*([-+*/%^&|~!=<>]+)(?=\s*\(|\s*<[^-+*/%^&|~!=<>]|$)")
_BETWEEN = re.compile(r"[\w.]\s*[-+*/%^|&]+\s*[\w.!~-]")
"""An operator between two operands, with bracketed text replaced."""
_BINARY = ("binary_expression", "assignment_expression")
_UNARY = ("unary_expression", "pointer_expression", "update_expression")


def operator_of(name: str) -> str | None:
    """The operator that a function is: ``+=`` for ``V3::operator+=(V3 const&)``; else None."""
    found = _NAMED.search(name)
    return None if found is None else found[1]


def operand_lists(text: str, operator: str, count: int) -> Iterator[tuple[int, list[str]]]:
    """The operands of each occurrence of an operator in a text.

    Args:
        text: of a statement, without comments; may be incomplete.
        operator: as written.
        count: its number of operands: 1 or 2.

    Yields:     Offset in characters where the expression begins, and its operands.
    """
    data = text.encode()
    nodes = [_parser().parse(_AROUND.encode() + data).root_node]
    while nodes:
        node = nodes.pop()
        nodes += reversed(node.children)
        if node.type not in (_BINARY if count == 2 else _UNARY):
            continue
        if node.has_error or not any(one.type == operator for one in node.children):
            continue
        operands = [one for one in node.named_children if one.type != "comment"]
        if len(operands) == count:
            at = node.start_byte - len(_AROUND)
            yield (
                len(data[:at].decode()),
                [(one.text or b"").decode() for one in operands],
            )


def is_computed(argument: str) -> bool:
    """Whether an argument is the result of an operator, ``-a`` or ``a + b``, not a variable."""
    argument = argument.strip()
    if argument.startswith("(") and closed_at(argument, 0) == len(argument):
        return is_computed(argument[1:-1])
    flat, depth = "", 0
    for char in argument.replace("->", "."):
        depth += char in "([{"
        flat += char if depth == 0 else "_"
        depth -= char in ")]}"
    if "?" in flat or "=" in flat or flat.startswith(("++", "--")):
        return False
    return flat.startswith(("-", "!", "~", "+")) or _BETWEEN.search(flat) is not None


@functools.cache
def _parser() -> Parser:
    import tree_sitter_cuda
    from tree_sitter import Language, Parser

    return Parser(Language(tree_sitter_cuda.language()))
