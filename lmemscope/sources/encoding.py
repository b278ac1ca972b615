"""Decode source files that are not UTF-8, for compilers and for display.

Compilers process bytes: those above 127 may occur in comments and literals, whatever they mean. The
compiled text therefore keeps them as lone surrogates (PEP 383), and only displayed text is decoded
as Latin-1, which has a character for every byte. Lines are counted as compilers do: a form feed, or
Latin-1's 0x85, does not end one.
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
"""Single-byte codecs that extend ASCII, by Python's names."""


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
    """The text of a source file; `encoded` restores its bytes."""
    body = data.removeprefix(codecs.BOM_UTF8)
    try:
        return Decoded(body.decode("utf-8"), None)
    except UnicodeDecodeError as error:
        odd = error.start + len(data) - len(body)
        return Decoded(body.decode("utf-8", "surrogateescape"), odd)


def python_encoding(data: bytes) -> str | None:
    """The encoding declared by a Python file (PEP 263), by Python's name; default ``utf-8``.

    None for an unknown encoding, and for one in which bytes other than ASCII may be code.
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
    """The text of a Python file without a byte order mark, with all line ends as newlines.

    Raises:
        ValueError: it is not in its declared encoding, or that is not supported.
    """
    name = python_encoding(data)
    if name is None:
        raise ValueError("its encoding is not read")
    return decoded_text(data, name).removeprefix("\ufeff")


def encoded(text: str) -> bytes:
    """The bytes of a text returned by `decoded`."""
    return text.encode("utf-8", "surrogateescape")


def readable(text: str) -> str:
    """A text returned by `decoded` for display: as Latin-1 if it is not UTF-8."""
    return text if is_encodable(text) else encoded(text).decode("latin-1")


def is_encodable(text: str) -> bool:
    """Whether a text is valid Unicode, without lone surrogates."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def wide_encoding(data: bytes) -> str | None:
    """Name of a multi-byte encoding, by its byte order mark, or None."""
    return next((name for mark, name in _WIDE if data.startswith(mark)), None)


def shown_lines(data: bytes) -> list[str]:
    """Lines of a source file for display, without line ends, numbered as compilers do."""
    body = data.removeprefix(codecs.BOM_UTF8)
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError:
        text = body.decode("latin-1")
    lines = text.removesuffix("\r").replace("\r\n", "\n").split("\n")
    return lines[:-1] if lines[-1] == "" else lines
