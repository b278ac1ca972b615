"""Whether what is assigned to an element may change which element that is.

C++17 evaluates the right side of an assignment first. In a call, compilers evaluate the index
first: then what a function on the right does to a variable of the index comes too late.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from lmemscope.rewrites.arrays import Elements, Use
from lmemscope.rewrites.base import Target
from lmemscope.rewrites.meanings import Meanings
from lmemscope.rewrites.places import is_declared_name
from lmemscope.rewrites.purity import CHANGED, may_act
from lmemscope.sources.syntax import FUNCTIONS, Syntax, outermost, walk

if TYPE_CHECKING:
    from tree_sitter import Node

_WORD = re.compile(rb"[A-Za-z_]\w*")
_REACHING = ("pointer_expression", "subscript_expression", "field_expression")
_MEMBER = re.compile(rb"(?:\.|->)\s*(\w+)\s*(?:\+\+|--|(?:[-+*/%&|^]|<<|>>)?=(?!=))")


def may_move(use: Use, right: Node, array: Elements, target: Target) -> bool:
    """Whether evaluating a value may change the index of the element that it is assigned to.

    Of a compound assignment, the element, too.

    Args:
        use: the assignment.
        right: the value.
        array: whose element it is.
        target: in whose file.
    """
    syntax, meanings = target.syntax, target.meanings
    words = {word for one in use.indices for word in _WORD.findall(syntax.text(one))}
    if may_act(right, target) or _changes_itself(right, words, syntax, meanings):
        return True
    if use.kind == "update":
        if any(
            other.kind not in ("read", "size")
            for other in array.uses
            if right.start_byte <= other.name.start_byte < right.end_byte
        ):
            return True
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


def _changes_itself(right: Node, words: set[bytes], syntax: Syntax, meanings: Meanings) -> bool:
    """Whether a value changes some variables where it names them, or hands them to what may."""
    for node in walk(right):
        if node.type == "lambda_expression":
            return True
        changed = None
        if node.type == "update_expression":
            changed = node.child_by_field_name("argument")
        elif node.type == "assignment_expression":
            changed = node.child_by_field_name("left")
        elif node.type == "pointer_expression" and syntax.text(node)[:1] == b"&":
            changed = node.child_by_field_name("argument")
        elif node.type == "call_expression":
            called = node.child_by_field_name("function")
            if called is not None and called.type == "field_expression":
                changed = called.child_by_field_name("argument")
            elif _takes_references(node, syntax, meanings):
                changed = node.child_by_field_name("arguments")
        if changed is not None and words & set(_WORD.findall(syntax.text(changed))):
            return True
    return False


def _takes_references(call: Node, syntax: Syntax, meanings: Meanings) -> bool:
    """Whether a function may change what it is given; one that is nowhere to be seen does not:
    those of the language's libraries take values or pointers."""
    called = call.child_by_field_name("function")
    text = b"" if called is None else syntax.text(called).partition(b"<")[0]
    words = _WORD.findall(text)
    return not words or bool({"mutable", "anything"} & meanings.taking(words[-1]))


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
        found |= {one or other for one, other in CHANGED.findall(body)}
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
