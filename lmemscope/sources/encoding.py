"""Source files that are not UTF-8: as compilers take them, and as people read them.

Compilers take bytes: those above 127 may stand in comments and literals, whatever they mean. So
the text that is compiled keeps them, as lone surrogates (PEP 383), and only what is shown is
decoded as Latin-1, which has a character for every byte. Lines are those that compilers count: a
form feed, or Latin-1's 0x85, ends none.
"""

from __future__ import annotations

import codecs
import io
import re
import tokenize
from dataclasses import dataclass

from lmemscope.files import decoded_text

_WIDE = (
    (codecs.BOM_UTF32_LE, "UTF-32"),
    (codecs.BOM_UTF32_BE, "UTF-32"),
    (codecs.BOM_UTF16_LE, "UTF-16"),
    (codecs.BOM_UTF16_BE, "UTF-16"),
)


_OF_ONE_BYTE = re.compile(r"ascii|iso8859-\d+|cp125\d|koi8-[ru]")
"""Codecs, by Python's names, in which each byte is a character, and ASCII's are their own."""


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


def python_encoding(data: bytes) -> str | None:
    """The encoding that a Python file declares (PEP 263), by Python's name; ``utf-8`` without one.

    None where in that encoding other bytes than ASCII's may be code, and where there is no such.
    """
    if b"coding" not in data:
        return "utf-8"
    try:
        name, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        name = codecs.lookup(name).name
    except (SyntaxError, LookupError):
        return None
    if name in ("utf-8", "utf-8-sig"):
        return "utf-8"
    return name if _OF_ONE_BYTE.fullmatch(name) else None


def decoded_python(data: bytes) -> str:
    """The text of a Python file without a byte order mark, every kind of line end as one newline.

    Raises:
        ValueError: it is not in the encoding that it declares, or that is not read.
    """
    name = python_encoding(data)
    if name is None:
        raise ValueError("its encoding is not read")
    return decoded_text(data, name).removeprefix("\ufeff")


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
    lines = text.removesuffix("\r").replace("\r\n", "\n").split("\n")
    return lines[:-1] if lines[-1] == "" else lines
