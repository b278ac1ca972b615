"""Whether a target's function is read as the compiler reads it: every brace where it stands."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lmemscope.model.blanked import is_balanced
from lmemscope.rewrites.base import Target
from lmemscope.sources.syntax import around

if TYPE_CHECKING:
    from tree_sitter import Node

_WORD = re.compile(rb"[A-Za-z_]\w*")


def unread(target: Target) -> str | None:
    """What of a target's files is not read here, as the end of a sentence; None if all is.

    A backslash that divides a name, braces that only one branch of a condition opens, and macros
    that stand for half of a pair move what a function holds.
    """
    for path in dict.fromkeys((target.path, *target.files)):
        syntax = target.syntax if path == target.path else target.tree(path)
        if syntax is not None and syntax.odd_line is not None and path.endswith(_SOURCES):
            return f"line {syntax.odd_line} of its file is not read completely"
    if target.path.endswith(".py") and target.syntax.odd_line is not None:
        return f"line {target.syntax.odd_line} of its file is not read completely"
    for function in _functions(target):
        code = target.syntax.code_of(function)
        line = function.start_point.row + 1
        if not is_balanced(code):
            return f"the braces of the function of line {line} differ between branches"
        if halves := target.meanings.halves & set(_WORD.findall(code)):
            name = min(halves).decode(errors="replace")
            return f"the macro `{name}` opens or closes what it does not close or open"
    return None


_SOURCES = (".cu", ".cuh", ".h", ".hpp", ".hh", ".hxx", ".inl", ".inc", ".cpp", ".cc", ".cxx")


def _functions(target: Target) -> tuple[Node, ...]:
    """The outermost definitions of functions that a target's lines stand in."""
    places = [one.line for one in (target.declared_at, target.place) if one is not None]
    found = {node.start_byte: node for line in places for node in target.syntax.functions_at(line)}
    return tuple(
        node
        for node in found.values()
        if not any(above.start_byte in found for above in around(node, "function_definition"))
    )
