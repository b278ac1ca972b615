"""What functions that are called, and macros that are used, may do to what is around them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lmemscope.rewrites.base import Target
from lmemscope.rewrites.variables import Number
from lmemscope.rewrites.written import is_pure_call
from lmemscope.sources.syntax import walk

if TYPE_CHECKING:
    from tree_sitter import Node

_LIBRARY = re.compile(rb"atomic\w+|printf|(?:std::)?(?:min|max|swap)")
_TOGETHER = re.compile(rb"sync|shfl|ballot|__a(?:ll|ny)\b|coalesced|tiled|clock|asm\b|volatile")
_DEEPEST = 4


def is_given_away(number: Number, target: Target) -> bool:
    """Whether a call gets a variable itself, and may change it, or a macro is made with it."""
    syntax = target.syntax
    name = syntax.text(number.name)
    words = set(re.findall(rb"[A-Za-z_]\w*", syntax.text(number.scope)))
    if re.search(rb"\b" + re.escape(name) + rb"\b", target.meanings.definitions(words)) is not None:
        return True
    for call in walk(number.scope):
        given = call.child_by_field_name("arguments") if call.type == "call_expression" else None
        if given is None or not any(syntax.text(one) == name for one in given.named_children):
            continue
        called = _name(call, target)
        if is_pure_call(call, target) or _LIBRARY.fullmatch(called) is not None:
            continue
        found = syntax.functions(called.decode(errors="replace"))
        if not found or any(
            b"&" in syntax.text(one) or b"..." in syntax.text(one)
            for function in found
            for one in syntax.parameters(function)
        ):
            return True
    return False


def is_alone(node: Node, target: Target, depth: int = _DEEPEST) -> bool:
    """Whether what is evaluated has nothing to do with other threads of the warp or block.

    What waits for others, or exchanges something with them, has to be evaluated as often as theirs.
    A function that is not seen may do so.
    """
    syntax = target.syntax
    if _TOGETHER.search(syntax.text(node)) is not None or not depth:
        return False
    for call in walk(node):
        if call.type != "call_expression" or is_pure_call(call, target):
            continue
        name = _name(call, target)
        if _LIBRARY.fullmatch(name) is not None:
            continue
        found = syntax.functions(name.decode(errors="replace"))
        bodies = [one.child_by_field_name("body") for one in found]
        if not found or not all(
            body is not None and is_alone(body, target, depth - 1) for body in bodies
        ):
            return False
    return True


def _name(call: Node, target: Target) -> bytes:
    called = call.child_by_field_name("function")
    text = b"" if called is None else target.syntax.text(called)
    return text.partition(b"<")[0].rpartition(b"::")[2].strip()
