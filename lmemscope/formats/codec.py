r"""Typed, validated JSON for lmemscope's own reports, baselines and store records.

A document's structure is a ``msgspec.Struct``; its fields, in order, are the document. Input is
validated field by field: a wrong type, a missing field or a word outside the vocabulary is
rejected, naming the place. Unknown fields are ignored, so that fields can be added.

Strings: JSON is UTF-8, but a file name may not be, and Python represents its bytes as surrogates. A
surrogate is written as U+001A (SUBSTITUTE) and the four hexadecimal digits of its code point,
``\u001aDCE9`` for the byte E9; a U+001A that would look like one is written ``\u001a001A``. Nothing
else is changed, and reading reverses it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, TypeVar

import msgspec
from msgspec import NODEFAULT, UNSET

from lmemscope.errors import FormatError

S = TypeVar("S", bound=msgspec.Struct)
T = TypeVar("T")

_SHOWN = 300
_ESCAPED = re.compile("\x1a(001A|D[89A-F][0-9A-F]{2})")
_TO_ESCAPE = re.compile("[\ud800-\udfff]|\x1a(?=001A|D[89A-F][0-9A-F]{2})")
# No size or count is longer; longer numbers must not reach code that divides by them.
_DIGITS = 19
_MANY_DIGITS = b"0" * (_DIGITS + 1)
_DIGITS_AS_ZEROS = bytes(ord("0" if chr(byte).isdecimal() else " ") for byte in range(256))
_ODD = re.compile(rb"\\u(?:001[aA]|[dD][89a-fA-F])")
# Other JSON writers escape surrogates; pairs are characters, single ones are bytes.
_JSON_ESCAPE = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    rb"|u(?P<alone>[dD][89a-fA-F][0-9a-fA-F]{2})|.)",
    re.DOTALL,
)


def encode(value: object) -> bytes:
    """A structure as JSON, in one line without spaces."""
    try:
        text = msgspec.json.encode(value)
    except UnicodeEncodeError:
        text = b""
    if not text or b"\\u001a" in text:
        text = msgspec.json.encode(_mapped(msgspec.to_builtins(value), _escape))
    return text


def pretty(value: object) -> str:
    """A structure as a file for people: indented, with a final newline."""
    return indented(encode(value))


def indented(data: bytes) -> str:
    """JSON as a file for people."""
    return msgspec.json.format(data, indent=2).decode() + "\n"


def ascii_line(value: object) -> str:
    """A structure in one line of ASCII, for files that are compared by line."""
    # msgspec writes only UTF-8.
    return json.dumps(msgspec.json.decode(encode(value)))


def decode(data: bytes, structure: type[T]) -> T:
    """Parse JSON into a structure.

    Raises:
        FormatError: it is not JSON, or does not match the structure; the message names the place.
    """
    try:
        if _ODD.search(data) is None and _MANY_DIGITS not in data.translate(_DIGITS_AS_ZEROS):
            return msgspec.json.decode(data, type=structure)
        plain = msgspec.json.decode(_JSON_ESCAPE.sub(_alone, data))
        return msgspec.convert(_mapped(plain, _unescape), structure)
    except RecursionError as error:
        raise FormatError("json", "it is nested too deeply") from error
    except MemoryError as error:
        raise FormatError("json", "it is too large for this machine's memory") from error
    except (msgspec.MsgspecError, UnicodeError) as error:
        raise FormatError("json", printable(str(error))) from error


def shaped(kind: type[S], *sources: object, **given: Any) -> S:
    """Convert between model and document structures that share field names.

    Every field of ``kind`` must be in ``given`` or in one of the sources, whether it has a default
    or not, so that none is lost. None is omitted from a document if the field is optional; absent
    fields have their default in the model.

    Args:
        kind: a ``msgspec.Struct``.
        sources: the first one that has a field counts.
        given: fields that are represented differently.

    Raises:
        AttributeError: a field is nowhere.
    """
    first = len(kind.__struct_fields__) - len(kind.__struct_defaults__)
    for place, name in enumerate(kind.__struct_fields__):
        if name not in given:
            default = kind.__struct_defaults__[place - first] if place >= first else NODEFAULT
            for source in sources:
                value = getattr(source, name, NODEFAULT)
                if value is UNSET or (value is None and default is UNSET):
                    value = default
                if value is not NODEFAULT:
                    given[name] = value
                    break
            else:
                raise AttributeError(f"nothing has {name} for {kind.__name__}")
    return kind(**given)


def _mapped(value: Any, change: Callable[[str], str]) -> Any:
    """The same lists and dictionaries with every string converted; rejects huge numbers."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {change(key): _mapped(item, change) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_mapped(item, change) for item in value]
    if isinstance(value, int) and abs(value) >= 10**_DIGITS:
        raise FormatError("json", f"it holds a number of more than {_DIGITS} digits")
    return value


def _escape(text: str) -> str:
    return _TO_ESCAPE.sub(lambda match: f"\x1a{ord(match[0]):04X}", text)


def _unescape(text: str) -> str:
    return _ESCAPED.sub(lambda match: chr(int(match[1], 16)), text)


def _alone(match: re.Match[bytes]) -> bytes:
    alone = match["alone"]
    return match[0] if alone is None else b"\\u001a" + alone.upper()


def printable(text: str) -> str:
    """Text from an untrusted file, made safe for a terminal."""
    shown = "".join(letter if letter.isprintable() else "?" for letter in text)
    return shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}…"
