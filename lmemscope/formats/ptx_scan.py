"""Where a PTX text defines functions, and where they speak of local memory.

One regular expression passes over the whole buffer, with a literal first byte, so that it jumps
from dot to dot. It finds headers and every ``.local``, and recognises at once the forms that
compilers write: a load or store that has a line of its own. Nothing is split into lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from lmemscope.formats.ptx_tokens import tokenise
from lmemscope.model import KernelKind

# Possessive throughout: what was read is never given back, so that no text takes quadratic time.
END_OF_LINE = rb"[ \t]*+;[ \t\r]*+(?>(?://[^\n]*+)?)(?=\n)"
"""Of a statement behind which there is at most a comment."""
OPCODE_PARTS = rb"(?>(?:\.\w++){0,99})[ \t]++"
OFFSET = rb"(?>(?:[+-]++\d++)?)"
ADDRESS = rb"\[%\w++" + OFFSET + rb"\]"
LOADED = rb"(?:%\w++|\{[%\w, \t]*+\})"
STORED = rb"(?:-?+%?+\w++|\{[%\w, \t]*+\})"
_LOAD = OPCODE_PARTS + LOADED + rb",[ \t]*+" + ADDRESS + END_OF_LINE
_STORE = OPCODE_PARTS + ADDRESS + rb",[ \t]*+" + STORED + END_OF_LINE
_CONVERSION = rb"\.u64[ \t]++%\w++,[ \t]*+%\w++" + END_OF_LINE
# Each alternative begins with a letter, so that the engine leaves it at once.
_MARK = re.compile(
    rb"\.(?:local(?:"
    rb"(?<=\n\tld\.local)" + _LOAD + rb"()|"
    rb"(?<=\n\tst\.local)" + _STORE + rb"()|"
    rb"(?<=\n\tcvta\.to\.local)" + _CONVERSION + rb"()|"
    rb")|entry\b()|func\b())"
)
_A_LOAD, _A_STORE, _A_CONVERSION = 1, 2, 3
_HEADER = re.compile(
    rb"[ \t]*+(?>(?:\.(?:visible|weak|extern|common)[ \t]++){0,9})\.(entry|func)\b"
)
_TO_BODY = rb"[^{;/]*+(?>(?>(?:/(?>(?:/[^\n]*+)?)[^{;/]*+){1,999})*)\{"
_NAME_AND_BODY = re.compile(rb"\s++(?>(?:\([^()/]*+\)\s*+)?)([%$A-Za-z_][\w$%]*+)(?!::)" + _TO_BODY)
_BODY = re.compile(_TO_BODY)
_HIDING = re.compile(rb'//[^\n]*+|"[^"]*+"|/\*(?>(?>(?:[^*]++|\*(?!/)){1,999})*)(?>(?:\*/)?)')
_VISIBLE = re.compile(rb"[^\n]")


class Definition(NamedTuple):
    """A function definition; positions are those of bytes in the text.

    Attributes:
        name: mangled.
        line: of its header, 1-based.
        begin, brace, end: its header, the brace that opens its body, and the next header.
        loads, stores: accesses to local memory in the usual form, `others` left out.
        others: every ``.local`` of another form, ascending; those of the header too.
    """

    name: str
    kind: KernelKind
    line: int
    begin: int
    brace: int
    end: int
    loads: int
    stores: int
    others: tuple[int, ...]


def code_of(text: bytes) -> bytes:
    """The text with blanks for block comments and for strings of several lines, if it has any.

    Bytes stay at their places and lines on theirs: what looks like a line of code is one.
    """
    if (b"*" in text and b"/*" in text) or _has_long_string(text):
        return _HIDING.sub(_blank, text)
    return text


def definitions(text: bytes) -> Iterator[Definition]:
    """The functions that a text without block comments defines, in order."""
    header: re.Match[bytes] | None = None
    line, counted, line_end = 1, 0, 0
    loads = stores = 0
    others: list[int] = []
    for mark in _MARK.finditer(text):
        kind = mark.lastindex
        if kind == _A_LOAD:
            loads += 1
        elif kind == _A_STORE:
            stores += 1
        elif kind is None:
            others.append(mark.start())
        elif kind > _A_CONVERSION and mark.start() >= line_end:
            at = mark.start()
            start = text.rfind(b"\n", 0, at) + 1
            following = text.find(b"\n", at)
            line_end = following if following >= 0 else len(text)
            found = _HEADER.match(text, start, mark.end())
            if found is None:
                continue
            if header is not None:
                place = _placed(text, header, start)
                if place is not None:
                    line += text.count(b"\n", counted, header.start())
                    counted = header.start()
                    yield _definition(header, place, line, start, loads, stores, others)
            header, loads, stores, others = found, 0, 0, []
    if header is not None:
        place = _placed(text, header, len(text))
        if place is not None:
            line += text.count(b"\n", counted, header.start())
            yield _definition(header, place, line, len(text), loads, stores, others)


def _definition(
    header: re.Match[bytes],
    place: tuple[str, int],
    line: int,
    end: int,
    loads: int,
    stores: int,
    others: list[int],
) -> Definition:
    kind: KernelKind = "entry" if header[1] == b"entry" else "function"
    name, brace = place
    return Definition(name, kind, line, header.start(), brace, end, loads, stores, tuple(others))


def _placed(text: bytes, header: re.Match[bytes], end: int) -> tuple[str, int] | None:
    """Name of a function and where its body opens; None for a declaration."""
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
    """The first name outside parentheses: return parameters come before it in parentheses."""
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
    """Blanks for a block comment and within a string; comments of one line stay."""
    found = match[0]
    if found.startswith(b"/*"):
        return _VISIBLE.sub(b" ", found)
    if found.startswith(b'"') and b"\n" in found:
        return b'"' + _VISIBLE.sub(b" ", found[1:-1]) + b'"'
    return found
