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
SIGNATURES = (
    *("__PRETTY_FUNCTION__", "__FUNCSIG__", "__FUNCDNAME__", "__FUNCTION__", "__func__"),
    *("function_name", "__builtin_FUNCTION", "__builtin_FUNCSIG"),
)
"""What says the name or the signature of the function that it stands in."""
_SIGNATURE = re.compile(rb"\b(?:%b)\b" % "|".join(SIGNATURES).encode())
_PRINTING = re.compile(rb"\b(?:__FILE__|__LINE__|file_name|\w*printf|cerr|cout|throw|assert)\b")
_WORD = re.compile(rb"[A-Za-z_]\w*")
_ENDS = b";{}"


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


def signature_line(code: bytes) -> int | None:
    """The first line that reads the name or the signature of a function, other than to report it.

    None where no line does.
    """
    for found in _SIGNATURE.finditer(code):
        if _PRINTING.search(_statement(code, found.start())) is None:
            return 1 + code.count(b"\n", 0, found.start())
    return None


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


def _statement(text: bytes, at: int) -> bytes:
    """The statement around a place, as far as brackets and semicolons end it."""
    start = max(text.rfind(bytes((one,)), 0, at) for one in _ENDS) + 1
    ends = [end for one in _ENDS if (end := text.find(bytes((one,)), at)) >= 0]
    return text[start : min(ends, default=len(text))]
