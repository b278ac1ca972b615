"""Whether what is called has to do with other threads."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lmemscope.rewrites.base import Target
from lmemscope.rewrites.purity import is_pure_call
from lmemscope.rewrites.written import is_own
from lmemscope.sources.syntax import walk

if TYPE_CHECKING:
    from tree_sitter import Node

_LIBRARY = re.compile(rb"atomic\w+|printf|(?:std::)?(?:min|max|swap)")
_TOGETHER = re.compile(rb"sync|shfl|ballot|__a(?:ll|ny)\b|coalesced|tiled|clock|asm\b|volatile")
_DEEPEST = 4


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
        name, called = _name(call, target), call.child_by_field_name("function")
        is_library = called is not None and not is_own(called, target)
        if is_library and _LIBRARY.fullmatch(name) is not None:
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
