"""Detect device code embedded in a source as array bytes, as ``bin2c`` and ``xxd`` write it.

Also detects files embedded by ``.incbin`` or ``#embed``.
"""

from __future__ import annotations

import functools
import os
import re

from lmemscope.files import read_beside
from lmemscope.routes import is_device_code

_ELF, _MACHINE = b"\x7fELF", b"\xbe"
"""Start of an ELF file, and its byte 18 if it is for a GPU (EM_CUDA)."""
FATBIN, _PTX = b"\x50\xed\x55\xba\x01\x00", b".version "
_SPELLED = (b"0x%x", b"%d", rb"\x%x", rb"\%o")
_RARE = (b"\x7f\xbe", b"\xed\xba", b"version")
"""Byte sequences that text contains only in the form of numbers."""
_NEXT = rb"u?\s{0,80},\s{0,80}(?:\(\w{1,20}\)\s{0,80})?"
_ANY = rb"(?:0x[0-9a-f]{1,2}|\d{1,3}|'\\?[^']{1,4}')"
_ESCAPE = rb"(?:\\x[0-9a-f]{2}|\\[0-7]{1,3}|[^\\])"


def _array(data: bytes) -> bytes:
    r"""A pattern for array elements: 69, 0x45, 'e' or '\x45', in lower case."""
    letters = data.lower()
    ways = (
        rb"(?:0x0?%x|%d|'%b'|'\\x%02x')" % (n, n, re.escape(letters[i : i + 1]), n)
        for i, n in enumerate(data)
    )
    return _NEXT.join(ways)


def _text(data: bytes) -> bytes:
    """The same for characters in a string literal."""
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
"""The same as little-endian words of 32 or 64 bits."""
_NAMED = re.compile(rb"(?:\.incbin|#\s{0,20}embed)\s{1,80}\\?[\"<]([^\"<>\\\n]{1,400})")


@functools.cache
def _bytes() -> re.Pattern[bytes]:
    """Patterns for single bytes; built only if a text may contain an image, which is rare."""
    return re.compile(
        b"|".join(
            (
                _array(_ELF) + rb"(?:%b%b){14}" % (_NEXT, _ANY) + _NEXT + _array(_MACHINE),
                _text(_ELF) + _ESCAPE + rb"{14}" + _text(_MACHINE),
                _array(FATBIN),
                _text(FATBIN),
                _array(_PTX),
                # Only escaped: kernels in plain text are found elsewhere.
                rb"(?=\\)" + _text(_PTX),
            )
        )
    )


def holds_image(path: str) -> bool:
    """Whether a source embeds a cubin, fat binary or PTX as array bytes.

    Embedding such a file through the assembler or preprocessor counts too.

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
    """Whether a file named in a source, relative to its directory or a parent, is device code."""
    above = os.path.dirname(os.path.abspath(path))
    while True:
        if is_device_code(os.path.join(above, os.fsdecode(name))):
            return True
        if above == os.path.dirname(above):
            return False
        above = os.path.dirname(above)
