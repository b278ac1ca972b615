"""Find function definitions in a PTX text.

One regular expression with a literal first byte passes over the whole buffer, so that it skips from
dot to dot. Nothing is split into lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from lmemscope.formats.ptx_tokens import tokenise
from lmemscope.model import KernelKind

# Possessive throughout: no backtracking, so that no text takes quadratic time.
_MARK = re.compile(rb"\.(?:entry|func)\b")
_HEADER = re.compile(
    rb"[ \t]*+(?>(?:\.(?:visible|weak|extern|common)[ \t]++){0,9})\.(entry|func)\b"
)
_TO_BODY = rb"[^{;/]*+(?>(?>(?:/(?>(?:/[^\n]*+)?)[^{;/]*+){1,999})*)\{"
_NAME_AND_BODY = re.compile(rb"\s++(?>(?:\([^()/]*+\)\s*+)?)([%$A-Za-z_][\w$%]*+)(?!::)" + _TO_BODY)
_BODY = re.compile(_TO_BODY)
_HIDING = re.compile(rb'//[^\n]*+|"[^"]*+"|/\*(?>(?>(?:[^*]++|\*(?!/)){1,999})*)(?>(?:\*/)?)')
_VISIBLE = re.compile(rb"[^\n]")


class Definition(NamedTuple):
    """A function definition; positions are byte offsets in the text.

    Attributes:
        name: mangled.
        line: of its header, 1-based.
        begin, brace, end: its header, the opening brace of its body, and the next header.
    """

    name: str
    kind: KernelKind
    line: int
    begin: int
    brace: int
    end: int


def code_of(text: bytes) -> bytes:
    """The text with block comments and multi-line strings blanked, if there are any.

    Offsets and lines are unchanged, and every line that looks like code is code.
    """
    if (b"*" in text and b"/*" in text) or _has_long_string(text):
        return _HIDING.sub(_blank, text)
    return text


def definitions(text: bytes) -> Iterator[Definition]:
    """The functions defined in a text without block comments, in order."""
    headers: list[re.Match[bytes]] = []
    line_end = 0
    for mark in _MARK.finditer(text):
        at = mark.start()
        if at >= line_end:
            start = text.rfind(b"\n", 0, at) + 1
            following = text.find(b"\n", at)
            line_end = following if following >= 0 else len(text)
            found = _HEADER.match(text, start, mark.end())
            headers += [found] if found is not None else []
    line, counted = 1, 0
    ends = [*(header.start() for header in headers[1:]), len(text)]
    for header, end in zip(headers, ends, strict=True) if headers else ():
        place = _placed(text, header, end)
        if place is not None:
            line += text.count(b"\n", counted, header.start())
            counted = header.start()
            kind: KernelKind = "entry" if header[1] == b"entry" else "function"
            yield Definition(place[0], kind, line, header.start(), place[1], end)


def _placed(text: bytes, header: re.Match[bytes], end: int) -> tuple[str, int] | None:
    """A function's name and where its body opens; None for a declaration."""
    usual = _NAME_AND_BODY.match(text, header.end(), end)
    if usual is not None:
        return usual[1].decode(), usual.end() - 1
    body = _BODY.match(text, header.end(), end)
    if body is None:
        return None
    brace = body.end() - 1
    name = _function_name(text[header.start() : brace].decode("utf-8", "replace"))
    return (name, brace) if name is not None else None


def _function_name(header: str) -> str | None:
    """The first name outside parentheses, which enclose the return parameters."""
    depth = 0
    for kind, text, _ in tokenise(header):
        depth += (text == "(") - (text == ")")
        if kind == "name" and depth == 0:
            return text
    return None


def _has_long_string(text: bytes) -> bool:
    at = text.find(b'"')
    while at >= 0:
        end = text.find(b'"', at + 1)
        if text.find(b"\n", at, end) >= 0:
            return True
        at = text.find(b'"', end + 1) if end >= 0 else -1
    return False


def _blank(match: re.Match[bytes]) -> bytes:
    """Blanks for a block comment and inside a string; single-line comments stay."""
    found = match[0]
    if found.startswith(b"/*"):
        return _VISIBLE.sub(b" ", found)
    if found.startswith(b'"') and b"\n" in found:
        return b'"' + _VISIBLE.sub(b" ", found[1:-1]) + b'"'
    return found
