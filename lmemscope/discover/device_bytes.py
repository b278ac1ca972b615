"""Device code in a source's text as the bytes of an array, as ``bin2c`` and ``xxd`` write it.

Or in a file whose bytes the source takes (``.incbin``, ``#embed``).
"""

from __future__ import annotations

import functools
import os
import re

from lmemscope.files import read_beside
from lmemscope.routes import is_device_code

_ELF, _MACHINE = b"\x7fELF", b"\xbe"
"""An ELF file's beginning, and its byte 18 where it is for a GPU (EM_CUDA)."""
FATBIN, _PTX = b"\x50\xed\x55\xba\x01\x00", b".version "
_SPELLED = (b"0x%x", b"%d", rb"\x%x", rb"\%o")
_RARE = (b"\x7f\xbe", b"\xed\xba", b"version")
"""Bytes of each that no text holds otherwise than as numbers."""
_NEXT = rb"u?\s{0,80},\s{0,80}(?:\(\w{1,20}\)\s{0,80})?"
_ANY = rb"(?:0x[0-9a-f]{1,2}|\d{1,3}|'\\?[^']{1,4}')"
_ESCAPE = rb"(?:\\x[0-9a-f]{2}|\\[0-7]{1,3}|[^\\])"


def _array(data: bytes) -> bytes:
    """A pattern for elements of an array: 69, 0x45, 'e' or '\\x45', in lower case."""
    letters = data.lower()
    ways = (
        rb"(?:0x0?%x|%d|'%b'|'\\x%02x')" % (n, n, re.escape(letters[i : i + 1]), n)
        for i, n in enumerate(data)
    )
    return _NEXT.join(ways)


def _text(data: bytes) -> bytes:
    """The same for characters of a string literal."""
    letters = data.lower()
    ways = (
        rb"(?:\\x%02x|\\0{0,2}%o|%b)" % (n, n, re.escape(letters[i : i + 1]))
        for i, n in enumerate(data)
    )
    return b"".join(ways)


_WORDS = re.compile(
    rb"0xba55ed50u?\s{0,80},\s{0,80}0x0{0,2}100001|0x0{0,2}100001ba55ed50"
    rb"|0x(?:[0-9a-f]{8})?464c457f[\w\s,]{0,80}be000[12]"
    rb"|0x7265762eu?\s{0,80},\s{0,80}0x6e6f6973|0x6e6f69737265762e"
)
"""The same in little-endian words of 32 or 64 bits."""
_NAMED = re.compile(rb"(?:\.incbin|#\s{0,20}embed)\s{1,80}\\?[\"<]([^\"<>\\\n]{1,400})")


@functools.cache
def _bytes() -> re.Pattern[bytes]:
    """The beginnings byte by byte, made when a text may hold one: most hold none."""
    return re.compile(
        b"|".join(
            (
                _array(_ELF) + rb"(?:%b%b){14}" % (_NEXT, _ANY) + _NEXT + _array(_MACHINE),
                _text(_ELF) + _ESCAPE + rb"{14}" + _text(_MACHINE),
                _array(FATBIN),
                _text(FATBIN),
                _array(_PTX),
                # As escapes: kernels in plain text are read elsewhere.
                rb"(?=\\)" + _text(_PTX),
            )
        )
    )


def holds_image(path: str) -> bool:
    """Whether a source's text holds machine code, a fat binary or PTX as the bytes of an array.

    Or has an assembler or the preprocessor take a file of that.

    Raises:
        OSError: it cannot be read.
    """
    data = read_beside(path)
    if any(_leads_to_image(path, name) for name in _NAMED.findall(data)):
        return True
    text = data.lower()
    may_be = any(all(form % n in text for n in rare) for form in _SPELLED for rare in _RARE)
    return (may_be and _bytes().search(text) is not None) or (
        any(word in text for word in (b"55ed50", b"4c457f", b"65762e"))
        and _WORDS.search(text) is not None
    )


def _leads_to_image(path: str, name: bytes) -> bool:
    """Whether a file that a source names, from its directory or one above, is device code."""
    above = os.path.dirname(os.path.abspath(path))
    while True:
        if is_device_code(os.path.join(above, os.fsdecode(name))):
            return True
        if above == os.path.dirname(above):
            return False
        above = os.path.dirname(above)
