"""JSON of our own, typed and checked: reports, baselines, the records of the store.

A document's structure is a dataclass or a ``msgspec.Struct``; its fields in their order are the
document. What is read is checked against it field by field: a wrong type, a missing field or a word
that is none of the vocabulary is refused, naming the place; a field that the structure does not
have is passed over, so that fields can be added.

Strings: JSON is UTF-8, but the name of a file may be no UTF-8, and Python holds its bytes as
surrogates. A surrogate is written as U+001A (SUBSTITUTE) and the four hexadecimal digits of its
code point, ``\\u001aDCE9`` for the byte E9; a U+001A that would read as one is written
``\\u001a001A``. Nothing else is changed, and reading undoes it.

msgspec is imported when something is read or written: most runs do neither.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, get_args, get_type_hints

from lmemscope import __version__
from lmemscope.errors import FormatError, InputError, LmemscopeError, UsageError

T = TypeVar("T")
D = TypeVar("D")
R = TypeVar("R")

LARGEST = 1 << 30
"""Bytes of a document that is read; what is larger is none of ours."""

_CHUNK = 1 << 20
_SHOWN = 300
_ESCAPED = re.compile("\x1a(001A|D[89A-F][0-9A-F]{2})")
_TO_ESCAPE = re.compile("[\ud800-\udfff]|\x1a(?=001A|D[89A-F][0-9A-F]{2})")
_ODD = re.compile(rb"\\u(?:001[aA]|[dD][89a-fA-F])")
# Other writers of JSON escape surrogates; in pairs they are characters, alone they are bytes.
_JSON_ESCAPE = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    rb"|u(?P<alone>[dD][89a-fA-F][0-9a-fA-F]{2})|.)",
    re.DOTALL,
)


def encode(value: object) -> bytes:
    """A structure as JSON, in one line without spaces."""
    import msgspec

    try:
        text = msgspec.json.encode(value)
    except UnicodeEncodeError:
        text = b""
    if not text or b"\\u001a" in text:
        text = msgspec.json.encode(_mapped(msgspec.to_builtins(value), _escape))
    return text


def pretty(value: object) -> str:
    """A structure as a file for people: indented, with the last line ended."""
    import msgspec

    return msgspec.json.format(encode(value), indent=2).decode() + "\n"


def ascii_line(value: object) -> str:
    """A structure in one line of ASCII, for files that are compared line by line."""
    import msgspec

    # msgspec writes UTF-8 only.
    return json.dumps(msgspec.json.decode(encode(value)))


def decode(data: bytes, structure: type[T]) -> T:
    """A structure out of JSON.

    Raises:
        FormatError: it is no JSON, or not of this structure; the message names the place.
    """
    import msgspec

    try:
        if _ODD.search(data) is None:
            return msgspec.json.decode(data, type=structure)
        plain = msgspec.json.decode(_JSON_ESCAPE.sub(_alone, data))
        return msgspec.convert(_mapped(plain, _unescape), structure)
    except RecursionError as error:
        raise FormatError("json", "it is nested too deeply") from error
    except MemoryError as error:
        raise FormatError("json", "it is too large for this machine's memory") from error
    except (msgspec.MsgspecError, UnicodeError) as error:
        raise FormatError("json", _printable(str(error))) from error


def schema_of(structure: type[object]) -> str:
    """The schema that a document's structure carries, such as ``lmemscope.report/1``."""
    (name,) = get_args(get_type_hints(structure)["schema"])
    return str(name)


@dataclass(frozen=True, slots=True)
class Saved(Generic[D, R]):
    """A kind of document that is kept in files and read again.

    Attributes:
        structure: of the document; its field ``schema`` is a literal ``NAME/VERSION``.
        meaning: makes of the document what the program works with; raises `FormatError` for a
            document that contradicts itself.
        stage: of the errors.
        noun: what such a file is called, such as ``saved report``.
        missing: what to do when the file is not there; ``{path}`` stands for it.
        again: what to do when it cannot be used.
    """

    structure: type[D]
    meaning: Callable[[D], R]
    stage: str
    noun: str
    missing: str
    again: str

    def load(self, path: str) -> R:
        """Read a file.

        Raises:
            InputError: it is not there, or no document of this kind, or damaged.
            UsageError: an older or newer lmemscope wrote it, in a schema of its own.
        """
        try:
            return self.parse(_read(path), path)
        except FileNotFoundError as error:
            hint = self.missing.format(path=path)
            raise InputError(self.stage, f"{path} does not exist", hint=hint) from error
        except OSError as error:
            message = f"{path} cannot be read: {error.strerror}"
            raise InputError(self.stage, message, hint="check the path") from error

    def parse(self, data: bytes, name: str) -> R:
        """Read what was in a file of that name.

        Raises:
            InputError, UsageError: as `load`.
        """
        if len(data) > LARGEST:
            message = f"{name} is no {self.noun}: it has more than {LARGEST} bytes"
            raise InputError(self.stage, message, hint=self.again)
        try:
            return self.meaning(decode(data, self.structure))
        except FormatError as error:
            raise self._refusal(data, name, error) from error

    def _refusal(self, data: bytes, name: str, why: FormatError) -> LmemscopeError:
        try:
            head = decode(data, _Head)
        except FormatError as error:
            message = f"{name} is no {self.noun}: {error.message}"
            return InputError(self.stage, message, hint=self.again)
        own = schema_of(self.structure)
        if head.schema == own:
            hint = self.again
            if head.version not in (None, __version__):
                writer = _printable(str(head.version))
                hint = f"lmemscope {writer} wrote it, this is {__version__}; {hint}"
            return InputError(self.stage, f"{name} is damaged: {why.message}", hint=hint)
        theirs, reads = _printable(head.schema), f"this lmemscope reads {own}"
        kind, _, version = own.partition("/")
        other, _, number = head.schema.partition("/")
        if other != kind or not (number.isascii() and number.isdecimal()):
            message = f"{name} is no {self.noun}: it has schema {theirs}; {reads}"
            return InputError(self.stage, message, hint=self.again)
        # By length first: a number of thousands of digits is not for int().
        is_newer = (len(number), number) > (len(version), version)
        age = "a newer" if is_newer else "an older"
        return UsageError(
            self.stage,
            f"{name} has schema {theirs}, of {age} lmemscope; {reads}",
            hint=f"upgrade lmemscope, or {self.again}" if is_newer else self.again,
        )


@dataclass(frozen=True, slots=True)
class _Head:
    """What every document begins with."""

    schema: str
    version: str | None = None


def _read(path: str) -> bytes:
    """A file's bytes, and one more than allowed of a file that never ends."""
    chunks: list[bytes] = []
    size = 0
    with open(path, "rb") as stream:
        while size <= LARGEST and (chunk := stream.read(_CHUNK)):
            chunks.append(chunk)
            size += len(chunk)
    return b"".join(chunks)


def _mapped(value: Any, change: Callable[[str], str]) -> Any:
    """The same lists and dictionaries with every string changed."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {change(key): _mapped(item, change) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_mapped(item, change) for item in value]
    return value


def _escape(text: str) -> str:
    return _TO_ESCAPE.sub(lambda match: f"\x1a{ord(match[0]):04X}", text)


def _unescape(text: str) -> str:
    return _ESCAPED.sub(lambda match: chr(int(match[1], 16)), text)


def _alone(match: re.Match[bytes]) -> bytes:
    alone = match["alone"]
    return match[0] if alone is None else b"\\u001a" + alone.upper()


def _printable(text: str) -> str:
    """Words out of a file that nobody vouches for, fit for a terminal."""
    shown = "".join(letter if letter.isprintable() else "?" for letter in text)
    return shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}…"
