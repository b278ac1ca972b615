"""Whether a name stands for one number wherever the program may read it.

What a name stands for is looked up by lines (`rules/constants.py`), which is good for advice: the
nearest definition above, whatever branch of the preprocessor, scope or default it is. Where a
rewrite's safety hangs on the number each name has to be defined once, as a constant.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

from lmemscope.rewrites.arrays import words_of
from lmemscope.rewrites.base import Target
from lmemscope.rewrites.places import is_declared_name
from lmemscope.sources.syntax import BRANCHES, FUNCTIONS, Syntax, around, walk

if TYPE_CHECKING:
    from tree_sitter import Node

_SCOPES = (*FUNCTIONS, "compound_statement", "for_statement", "class_specifier", "struct_specifier")
"""What a name is not known outside of."""


def is_settled(expression: Node, target: Target) -> bool:
    """Whether each name of an expression is a macro, or a constant that is declared once.

    Names in the definitions of macros and in the values of constants count.
    """
    pending = [
        target.syntax.text(one) for one in walk(expression) if one.type.endswith("identifier")
    ]
    seen: set[bytes] = set()
    sources = target.hits[0].case.sources
    while pending:
        name = pending.pop()
        if name in seen:
            continue
        seen.add(name)
        declared = list(_declared(name, target))
        given = sources.given(name.decode(errors="replace"))
        macro = target.meanings.definitions((name,)) + (given or "").encode()
        if macro:
            if declared:
                return False
            pending += words_of([macro])
        else:
            value = _value(declared, expression, target) if len(declared) == 1 else None
            if value is None:
                return False
            pending += words_of([value])
    return True


def _declared(name: bytes, target: Target) -> Iterator[tuple[str, Syntax, Node]]:
    """Where files in sight declare a name, members and parameters of templates included."""
    for path in dict.fromkeys((target.path, *map(os.path.abspath, target.files))):
        syntax = target.syntax if path == target.path else target.tree(path)
        if syntax is None or name not in syntax.words():
            continue
        for node in walk(syntax.root):
            if not node.type.endswith("identifier") or syntax.text(node) != name:
                continue
            above = node.parent
            is_member = above is not None and above.type == "field_declaration"
            if is_member or is_declared_name(node):
                yield path, syntax, node


def _value(
    declared: list[tuple[str, Syntax, Node]], expression: Node, target: Target
) -> bytes | None:
    """The value of what is declared once, where that is a constant that the expression may mean."""
    ((path, syntax, name),) = declared
    above = name.parent
    if above is None or above.type not in ("init_declarator", "enumerator"):
        return None
    value = above.child_by_field_name("value")
    statement = above.parent
    if value is None or statement is None:
        return None
    words = words_of([syntax.code[statement.start_byte : name.start_byte]])
    if above.type == "init_declarator" and not {b"const", b"constexpr"} & words:
        return None
    if any(not syntax.is_guard(one) for one in around(name, *BRANCHES)):
        return None
    for scope in around(name, *_SCOPES):
        inside = scope.start_byte <= expression.start_byte < scope.end_byte
        if path != target.path or not inside:
            return None
    return syntax.text(value)
