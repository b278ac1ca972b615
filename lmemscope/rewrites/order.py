"""Whether what is assigned to an element may change which element that is.

C++17 evaluates the right side of an assignment first. In a call, compilers evaluate the index
first: then what a function on the right does to a variable of the index comes too late.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from lmemscope.rewrites.arrays import Use
from lmemscope.rewrites.meanings import Meanings
from lmemscope.rewrites.places import is_declared_name
from lmemscope.sources.syntax import FUNCTIONS, Syntax, outermost, walk

if TYPE_CHECKING:
    from tree_sitter import Node

_WORD = re.compile(rb"[A-Za-z_]\w*")
_REACHING = ("pointer_expression", "subscript_expression", "field_expression")
_CHANGED = re.compile(
    rb"(?:\+\+|--)\s*(?:\w+\s*(?:\.|->)\s*)*(\w+)"
    rb"|(?<!\w\.)(?<!\w->)\b(\w+)\s*(?:\[[^\]]{0,500}\]\s*|(?:\.|->)\s*\w+\s*){0,64}"
    rb"(?:\+\+|--|(?:[-+*/%&|^]|<<|>>)?=(?!=))"
)
"""What code changes: a variable, or one that it is reached from."""
_MEMBER = re.compile(rb"(?:\.|->)\s*(\w+)\s*(?:\+\+|--|(?:[-+*/%&|^]|<<|>>)?=(?!=))")


def may_move(use: Use, right: Node, syntax: Syntax, meanings: Meanings) -> bool:
    """Whether evaluating a value may change the index of the element that it is assigned to.

    Of a compound assignment, the element, too.

    Args:
        use: the assignment.
        right: the value.
        syntax: of the file.
        meanings: what names mean around it.
    """
    words = {word for one in use.indices for word in _WORD.findall(syntax.text(one))}
    if use.kind == "update":
        words.add(syntax.text(use.name))
    function = outermost(use.name, FUNCTIONS)
    calls = [one for one in walk(right) if one.type == "call_expression"]
    if function is None:
        return bool(calls)
    is_counted = any(one.type == "update_expression" for i in use.indices for one in walk(i))
    if any(_is_addressed(word, function, syntax) for word in words):
        # Another name for it may be on the right.
        reads = is_counted and any(one.type in _REACHING for one in walk(right))
        if reads or any(_changes(one, syntax, meanings) is not None for one in calls):
            return True
    own = {syntax.text(one) for one in walk(function) if _is_own(one)}
    for call in calls:
        changed = _changes(call, syntax, meanings)
        if changed is None:
            continue
        called = call.child_by_field_name("function")
        name = b"" if called is None else syntax.text(called)
        # A function's own variables may be called like those of the index.
        is_function = bool(syntax.functions(name.decode(errors="replace")))
        if words & (changed - own if is_function else changed):
            return True
        if words & set(_WORD.findall(name)) or _is_handed(call, use, function, syntax):
            return True
    return False


def _changes(call: Node, syntax: Syntax, meanings: Meanings) -> set[bytes] | None:
    """Variables that a call may change, by their names; None where it cannot change any."""
    called = call.child_by_field_name("function")
    if called is None or called.type == "primitive_type":
        return None
    words = _WORD.findall(syntax.text(called).partition(b"<")[0])
    if words and words[-1].endswith(b"_cast"):
        return None
    found: set[bytes] = set()
    for body in meanings.reached(words[-1:]):
        found |= {one or other for one, other in _CHANGED.findall(body)}
        found |= set(_MEMBER.findall(body))
    return found


def _is_handed(call: Node, use: Use, function: Node, syntax: Syntax) -> bool:
    """Whether a call gets a pointer that the index is read through, to what it may change."""
    through = {
        word
        for index in use.indices
        for node in walk(index)
        if node.type in _REACHING
        for part in [node.child_by_field_name("argument")]
        if part is not None
        for word in _WORD.findall(syntax.text(part))[:1]
    }
    given = call.child_by_field_name("arguments")
    handed = {
        word
        for one in (given.named_children if given is not None else ())
        for node in _whole(one)
        for word in [syntax.text(node)]
    }
    head = syntax.code_of(function)
    return any(
        re.search(rb"\bconst\b[^;,(){}=]*\*[\s\w]*\b%b\b" % re.escape(one), head) is None
        for one in through & handed
    )


def _whole(node: Node) -> Iterator[Node]:
    """Names in an argument that are not only read through."""
    if node.type == "identifier":
        yield node
    elif node.type not in ("subscript_expression", "field_expression", "call_expression"):
        for one in node.named_children:
            yield from _whole(one)


def _is_addressed(name: bytes, function: Node, syntax: Syntax) -> bool:
    """Whether there may be another name for a variable: a pointer or a reference to it."""
    spelled = re.escape(name)
    pattern = rb"(?<![&\w)\]])\s*(?<!&)&\s*%b\b(?!\s*[\[.(])|&\s*\w+\s*=\s*%b\b" % (
        spelled,
        spelled,
    )
    return re.search(pattern, syntax.code_of(function)) is not None


def _is_own(node: Node) -> bool:
    return node.type == "identifier" and is_declared_name(node)
