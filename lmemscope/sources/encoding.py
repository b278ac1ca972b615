"""Source files that are not UTF-8: as compilers take them, and as people read them.

Compilers take bytes: those above 127 may stand in comments and literals, whatever they mean. So
the text that is compiled keeps them, as lone surrogates (PEP 383), and only what is shown is
decoded as Latin-1, which has a character for every byte. Lines are those that compilers count: a
form feed, or Latin-1's 0x85, ends none.
"""

from __future__ import annotations

import codecs
from dataclasses import dataclass

_WIDE = (
    (codecs.BOM_UTF32_LE, "UTF-32"),
    (codecs.BOM_UTF32_BE, "UTF-32"),
    (codecs.BOM_UTF16_LE, "UTF-16"),
    (codecs.BOM_UTF16_BE, "UTF-16"),
)


@dataclass(frozen=True, slots=True)
class Decoded:
    """A file's text.

    Attributes:
        text: without a byte order mark; bytes that are not UTF-8 as lone surrogates.
        odd_byte: offset of the first byte that is not UTF-8, or None.
    """

    text: str
    odd_byte: int | None


def decoded(data: bytes) -> Decoded:
    """The text of a source file, such that `encoded` gives its bytes again."""
    body = data.removeprefix(codecs.BOM_UTF8)
    try:
        return Decoded(body.decode("utf-8"), None)
    except UnicodeDecodeError as error:
        odd = error.start + len(data) - len(body)
        return Decoded(body.decode("utf-8", "surrogateescape"), odd)


def encoded(text: str) -> bytes:
    """The bytes of a text that `decoded` gave."""
    return text.encode("utf-8", "surrogateescape")


def readable(text: str) -> str:
    """A text that `decoded` gave, for people: as Latin-1 where it is not UTF-8."""
    return text if is_encodable(text) else encoded(text).decode("latin-1")


def is_encodable(text: str) -> bool:
    """Whether a text is plain Unicode: no byte of it is a lone surrogate."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def wide_encoding(data: bytes) -> str | None:
    """Name of an encoding of more than a byte per character, by its byte order mark, or None."""
    return next((name for mark, name in _WIDE if data.startswith(mark)), None)


def shown_lines(data: bytes) -> list[str]:
    """Lines of a source file for people, without line ends, numbered as compilers do."""
    body = data.removeprefix(codecs.BOM_UTF8)
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError:
        text = body.decode("latin-1")
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    return lines[:-1] if lines[-1] == "" else lines
