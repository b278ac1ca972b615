"""JSON of our own, typed and checked: reports, baselines, the records of the store.

A document's structure is a ``msgspec.Struct``; its fields in their order are the
document. What is read is checked against it field by field: a wrong type, a missing field or a word
that is none of the vocabulary is refused, naming the place; a field that the structure does not
have is passed over, so that fields can be added.

Strings: JSON is UTF-8, but the name of a file may be no UTF-8, and Python holds its bytes as
surrogates. A surrogate is written as U+001A (SUBSTITUTE) and the four hexadecimal digits of its
code point, ``\\u001aDCE9`` for the byte E9; a U+001A that would read as one is written
``\\u001a001A``. Nothing else is changed, and reading undoes it.
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
# No size or count is longer; what is must not reach those who divide by it.
_DIGITS = 19
_MANY_DIGITS = b"0" * (_DIGITS + 1)
_DIGITS_AS_ZEROS = bytes(ord("0" if chr(byte).isdecimal() else " ") for byte in range(256))
_ODD = re.compile(rb"\\u(?:001[aA]|[dD][89a-fA-F])")
# Other writers of JSON escape surrogates; in pairs they are characters, alone they are bytes.
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
    """A structure as a file for people: indented, with the last line ended."""
    return indented(encode(value))


def indented(data: bytes) -> str:
    """JSON as a file for people."""
    return msgspec.json.format(data, indent=2).decode() + "\n"


def ascii_line(value: object) -> str:
    """A structure in one line of ASCII, for files that are compared line by line."""
    # msgspec writes UTF-8 only.
    return json.dumps(msgspec.json.decode(encode(value)))


def decode(data: bytes, structure: type[T]) -> T:
    """A structure out of JSON.

    Raises:
        FormatError: it is no JSON, or not of this structure; the message names the place.
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
    """A document out of the model or the model out of a document, where the two are laid out alike.

    Every field of ``kind`` is in ``given`` or, by name, in one of the sources; a field that is in
    none is an error, whether it has a default or not. So no field is lost on the way. None is left
    out of a document where the field may be absent; what is absent has its default in the model.

    Args:
        kind: a ``msgspec.Struct``.
        sources: the first that has a field counts.
        given: fields that are laid out in another way.

    Raises:
        AttributeError: nothing has a field.
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
    """The same lists and dictionaries with every string changed; no number may be too large."""
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
    """Words out of a file that nobody vouches for, fit for a terminal."""
    shown = "".join(letter if letter.isprintable() else "?" for letter in text)
    return shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}…"
