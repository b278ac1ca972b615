"""Find preprocessor directives that include headers or define macros, as compilers do.

A directive may follow comments, span continued lines, and be spelled with trigraphs. The text is
read in each way that some compiler or dialect reads it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

BLANKS = rb"[ \t\v\f\r\0]*"
_HASH = re.compile(rb"(?:#|%:)" + BLANKS + rb"(?=(?:include|include_next|import|embed)\b|/\*)")
_WORD = re.compile(rb"(?:include|include_next|import|embed)\b")
_DEFINING_HASH = re.compile(rb"(?:#|%:)" + BLANKS + rb"(?=define\b|/\*)")
_DEFINING_WORD = re.compile(rb"define\b")
_CONDITION = re.compile(rb"__has_(?:include|include_next|embed)\b")
_SPACE = re.compile(BLANKS)
_BEFORE = b" \t\v\f\0\xef\xbb\xbf"
"""What may precede a directive on its line besides comments: blanks, and the UTF-8 mark."""

_TRIGRAPHS = dict(zip(b"=/'()!<>-", b"#\\^[]|{}~", strict=True))
_TRIGRAPH = re.compile(rb"\?\?([=/'()!<>-])")
SPLICE = re.compile(rb"\\\r?\n")
_LOOSE_SPLICE = re.compile(rb"\\[ \t\v\f\r]*\n")


def readings(data: bytes) -> Iterator[bytes]:
    """A text as compilers read it, with continued lines joined: each possible reading.

    Trigraphs, and blanks between a backslash and its newline, matter only to some compilers and
    dialects.
    """
    joined = data
    if b"\\\n" in data or b"\\\r" in data:
        joined = SPLICE.sub(b"", data)
    yield joined
    trigraphs = b"??" in data
    if trigraphs or (b"\\" in data and _LOOSE_SPLICE.search(joined)):
        if trigraphs:
            data = _TRIGRAPH.sub(lambda found: bytes((_TRIGRAPHS[found[1][0]],)), data)
        loose = _LOOSE_SPLICE.sub(b"", data)
        if loose != joined:
            yield loose


def headers_named(text: bytes) -> Iterator[tuple[int, bytes]]:
    """Positions where a header name is expected, and the word that introduces it."""
    yield from _directives(text, _HASH, _WORD)
    if b"__has_" in text:
        skip = Skip(text)
        for found in _CONDITION.finditer(text):
            at = skip(found.end())
            if text.startswith(b"(", at):
                yield skip(at + 1), found[0]


def defines_in(text: bytes) -> Iterator[int]:
    """Positions after the word ``#define``."""
    return (at for at, _ in _directives(text, _DEFINING_HASH, _DEFINING_WORD))


def _directives(
    text: bytes, hashes: re.Pattern[bytes], words: re.Pattern[bytes]
) -> Iterator[tuple[int, bytes]]:
    """Positions after these words of directives, and the word."""
    skip, begins_line = Skip(text), _LineBegins(text)
    for found in hashes.finditer(text):
        word = words.match(text, skip(found.end()))
        if word is not None and begins_line(found.start()):
            yield skip(word.end()), word[0]


class _LineBegins:
    """Whether only blanks and comments (possibly begun on earlier lines) precede a position.

    Positions must be queried in order, so that nothing is scanned twice.
    """

    def __init__(self, text: bytes) -> None:
        self._text = text
        self._seen = 0
        self._is_blank = True

    def __call__(self, at: int) -> bool:
        between = self._text[self._seen : at]
        # One byte back: a comment's two end characters may have been seen separately.
        closed = self._text.rfind(b"*/", max(self._seen - 1, 0), at)
        begin = max(between.rfind(b"\n") + 1, between.rfind(b"\r") + 1)
        begin = max(begin, closed + 2 - self._seen if closed >= 0 else 0)
        self._is_blank = (self._is_blank or begin > 0) and not between[begin:].strip(_BEFORE)
        self._seen = at
        return self._is_blank


class Skip:
    """Skips blanks and comments; text searched for a comment's end is not searched again."""

    def __init__(self, text: bytes) -> None:
        self._text = text
        self._from, self._end = 0, -1

    def __call__(self, at: int) -> int:
        """The position of what follows, or of an unterminated comment."""
        text = self._text
        while True:
            blank = _SPACE.match(text, at)
            at = blank.end() if blank is not None else at
            if not text.startswith(b"/*", at):
                return at
            if not self._from <= at + 2 <= self._end:
                self._from, end = at + 2, text.find(b"*/", at + 2)
                self._end = end if end >= 0 else len(text)
            if self._end == len(text):
                return at
            at = self._end + 2
