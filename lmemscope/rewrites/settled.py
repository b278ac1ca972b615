"""Whether a name stands for one number wherever the program may read it.

What a name stands for is looked up by lines (`rules/constants.py`), which is good for advice: the
nearest definition above, whatever branch of the preprocessor, scope or default it is. Where a
rewrite's safety hangs on the number each name has to be defined once, as a constant.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from lmemscope.rewrites.arrays import words_of
from lmemscope.rewrites.base import Target
from lmemscope.rewrites.places import is_declared_name
from lmemscope.sources.syntax import BRANCHES, FUNCTIONS, Syntax, around, walk

if TYPE_CHECKING:
    from tree_sitter import Node

_SCOPES = (*FUNCTIONS, "compound_statement", "for_statement", "class_specifier", "struct_specifier")
"""What a name is not known outside of."""
_WORDS = frozenset((b"__launch_bounds__", b"int", b"unsigned", b"sizeof"))
"""What no compilation gives another meaning."""
_DEFINITIONS = ("preproc_def", "preproc_function_def")


def is_settled(expression: Node, target: Target) -> bool:
    """Whether each name of an expression is a macro, or a constant that is declared once.

    Names in the definitions of macros and in the values of constants count.
    """
    names = (one for one in walk(expression) if one.type.endswith("identifier"))
    return are_settled((target.syntax.text(one) for one in names), expression, target)


def are_settled(names: Iterable[bytes], place: Node, target: Target) -> bool:
    """Whether each of some names at a place stands for one number in every compilation.

    Another architecture or build may take other branches, and define what has a default only.
    """
    pending, seen = list(names), set[bytes]()
    while pending:
        name = pending.pop()
        if name in seen:
            continue
        seen.add(name)
        if name in _WORDS:
            continue
        declared = list(declarations(name, target))
        defined = list(_defined(name, target))
        if defined or target.meanings.definitions((name,)):
            body = None if declared else _body(name, defined, target)
            if body is None:
                return False
            pending += body
        else:
            value = _value(declared, place, target) if len(declared) == 1 else None
            if value is None:
                return False
            pending += words_of([value])
    return True


def _defined(name: bytes, target: Target) -> Iterator[tuple[Syntax, Node]]:
    """Where files in sight define a macro."""
    for _, syntax in target.trees(name):
        for node in walk(syntax.root):
            if node.type in _DEFINITIONS and syntax.text(node.children[1]) == name:
                yield syntax, node


def _body(
    name: bytes, defined: list[tuple[Syntax, Node]], target: Target
) -> frozenset[bytes] | None:
    """Names that a macro stands for; None where it may stand for something else elsewhere."""
    # A file may be known by two paths, and its text be there twice.
    written = list(dict.fromkeys(target.meanings.macros(name)))
    given = target.hits[0].case.sources.given(name.decode(errors="replace"))
    if len(written) != 1 or len(defined) != 1 or given is not None:
        return None
    (syntax, node), ((parameters, body),) = defined[0], written
    for branch in around(node, *BRANCHES):
        guarded = branch.child_by_field_name("name")
        is_default = guarded is not None and syntax.text(guarded) == name
        if is_default or not syntax.is_guard(branch):
            return None
    return frozenset(words_of([body])) - words_of([parameters])


def declarations(name: bytes, target: Target) -> Iterator[tuple[str, Syntax, Node]]:
    """Where files in sight declare a name, members and parameters of templates included."""
    for path, syntax in target.trees(name):
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
