"""Programs whose results may follow the text: line numbers, and what counts its own uses.

An inserted line moves `__LINE__` behind it. What only reports where it stands, with the file's or
the function's name or in what is printed, is no result.
"""

from __future__ import annotations

import re

from lmemscope.model import Rewriting
from lmemscope.rewrites.base import Target
from lmemscope.sources.macro_use import code
from lmemscope.sources.own_name import decided_by_line

_HIDDEN = re.compile(rb"\b(?:__builtin_(?:LINE|COLUMN|source_location)|source_location)\b")
"""What a default argument may ask for where a call does not show it."""
_LINE = re.compile(rb"\b__LINE__\b")
_COUNTER = re.compile(rb"\b__COUNTER__\b")
_WORD = re.compile(rb"[A-Za-z_]\w*")


def follows_text(rewriting: Rewriting, target: Target) -> bool:
    """Whether a result may depend on a line number, or on a counter, that edits change."""
    meanings = target.meanings
    is_hidden, has_lines = meanings.has(_HIDDEN), meanings.has(_LINE)
    if not (is_hidden or has_lines or meanings.has(_COUNTER)):
        return False
    first: dict[str, int] = {}
    for edit in rewriting.edits:
        syntax = target.syntax if edit.file == target.path else target.tree(edit.file)
        if syntax is None:
            return True
        before = syntax.data[edit.start : edit.end]
        if _counts(before, target) != _counts(edit.text, target):
            return True
        if before.count(b"\n") != edit.text.count(b"\n"):
            first[edit.file] = min(edit.start, first.get(edit.file, edit.start))
    if first and is_hidden:
        return True
    return has_lines and any(_names_lines(file, at, target) for file, at in first.items())


def _counts(text: bytes, target: Target) -> int:
    """How often a text asks for the next number of the counter."""
    meanings = target.meanings
    return sum(
        word == b"__COUNTER__" or meanings.macro_has((word,), _COUNTER)
        for word in _WORD.findall(text)
    )


def _names_lines(file: str, at: int, target: Target) -> bool:
    """Whether code behind a place depends on which line it is on."""
    syntax = target.syntax if file == target.path else target.tree(file)
    assert syntax is not None
    return decided_by_line(code(syntax.data[at:]), [code(text) for text in target.meanings.texts])
