"""String methods and formatting, keeping the source location of each line.

Each function raises `ValueError`, `TypeError`, `LookupError` or `OverflowError` as Python would, or
if the result would be longer than any source.
"""

from __future__ import annotations

import re
import string
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence

from lmemscope.sources.located_text import Place, Text, at, joined
from lmemscope.sources.python_values import LONGEST, Unknown, Value, as_key, plain, shown

_PERCENT = re.compile(
    r"%(?:(?P<percent>%)|(?:\((?P<name>\w*)\))?(?P<flags>[-+ #0]*)(?P<width>\d*)"
    r"(?:\.(?P<precision>\d*))?(?P<letter>[diouxXeEfFgGcrs]))"
)
_NAMED = re.compile(r"\$(?:(?P<escaped>\$)|(?P<plain>[_a-zA-Z]\w*)|\{(?P<braced>[_a-zA-Z]\w*)\})")
_FIELD = re.compile(r"(?P<first>\w*)(?P<rest>(?:\.\w+|\[\w+\])*)")
_STEP = re.compile(r"\.(\w+)|\[(\w+)\]")
_WIDEST = 1000
_MOST_PARTS = 100_000
"""Maximum number of parts of a string that are tracked."""
_DEEPEST = 2
"""Maximum nesting of replacement fields, as in ``str.format``."""
_NUMBER = re.compile(r"\d+")


class UnknownPartError(Exception):
    """A part of a string is unknown; ``reason`` is what it depends on."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class _Pieces:
    """A string made of parts of one text, with values inserted between them.

    Args:
        text: the format, whose lines are those of the literal parts.
    """

    def __init__(self, text: Text) -> None:
        self._text, self._line = text, 0
        self._parts: list[Text] = []
        self._length = 0

    def literal(self, part: str) -> None:
        count = part.count("\n")
        places = self._text.places[self._line : self._line + count + 1]
        self._line += count
        self._add(Text(part, places))

    def insert(self, value: Value, spec: str = "", conversion: str | None = None) -> None:
        place = self._text.places[min(self._line, len(self._text.places) - 1)]
        text = formatted(value, spec, conversion, place)
        # As in f-strings, a line into which something is inserted keeps the format's location.
        self._add(Text(text.value, (place, *text.places[1:])))

    def _add(self, part: Text) -> None:
        self._length += len(part.value)
        if self._length > LONGEST:
            raise OverflowError
        self._parts.append(part)

    def whole(self) -> Text:
        return joined(self._parts) if self._parts else at("", self._text.places[0])


def formatted(value: Value, spec: str, conversion: str | None, place: Place) -> Text:
    """A value as ``format`` returns it.

    Raises:
        UnknownPartError: it is unknown.
        ValueError, TypeError, OverflowError: it does not support the format.
    """
    if isinstance(value, Unknown):
        raise UnknownPartError(value.reason)
    if isinstance(value, Text) and not spec and conversion in (None, "s"):
        return value
    known = shown(value)
    if known is None:
        raise UnknownPartError("the text of an object")
    if any(int(number) > _WIDEST for number in _NUMBER.findall(spec)):
        raise OverflowError
    if conversion in ("r", "a"):
        return at(format(repr(plain(value)), spec), place)
    is_number = isinstance(value, bool | int | float | complex) and conversion is None
    return at(format(value if is_number else known, spec), place)


def percent(text: Text, given: Value) -> Text:
    """``text % given``."""
    pieces, position = _Pieces(text), 0
    rest = iter(given if isinstance(given, tuple) else (given,))
    for found in _PERCENT.finditer(text.value):
        _without(text.value[position : found.start()], "%")
        pieces.literal(text.value[position : found.start()])
        position = found.end()
        if found["percent"]:
            pieces.literal("%")
            continue
        value = given[found["name"]] if found["name"] is not None else next(rest)
        _percent_part(pieces, found, value)
    _without(text.value[position:], "%")
    pieces.literal(text.value[position:])
    if not isinstance(given, dict) and next(rest, None) is not None:
        raise TypeError
    return pieces.whole()


def _percent_part(pieces: _Pieces, found: re.Match[str], value: Value) -> None:
    spelled = f"%{found['flags']}{found['width']}"
    spelled += f".{found['precision']}" if found["precision"] is not None else ""
    if spelled == "%" and found["letter"] == "s":
        pieces.insert(value)
        return
    if isinstance(value, Unknown):
        raise UnknownPartError(value.reason)
    if any(int(number) > _WIDEST for number in _NUMBER.findall(spelled)):
        raise OverflowError
    known = shown(value)
    if known is None:
        raise UnknownPartError("the text of an object")
    is_text = found["letter"] in "rs"
    subject = plain(value) if found["letter"] == "r" or not is_text else known
    if isinstance(subject, tuple):
        raise TypeError
    pieces.insert(at(f"{spelled}{found['letter']}" % subject, ("", 0)))


def _without(text: str, sign: str) -> None:
    if sign in text:
        raise ValueError


def braces(
    text: Text, arguments: Sequence[Value], words: Mapping[str, Value], depth: int = 1
) -> Text:
    """``text.format(*arguments, **words)``; ``depth`` is the nesting of fields."""
    if depth > _DEEPEST:
        raise ValueError
    pieces = _Pieces(text)
    automatic = iter(range(len(arguments)))
    for literal, name, spec, conversion in string.Formatter().parse(text.value):
        pieces.literal(literal)
        if name is None:
            continue
        value = _field(name, arguments, words, automatic)
        inner = ""
        if spec and "{" in spec:
            inner = braces(at(spec, ("", 0)), arguments, words, depth + 1).value
        elif spec:
            inner = spec
        pieces.insert(value, inner, conversion or None)
    return pieces.whole()


def _field(
    name: str, arguments: Sequence[Value], words: Mapping[str, Value], automatic: Iterator[int]
) -> Value:
    found = _FIELD.fullmatch(name)
    if found is None:
        raise ValueError
    first = found["first"] or str(next(automatic))
    value = arguments[int(first)] if first.isdigit() else words[first]
    for attribute, key in _STEP.findall(found["rest"]):
        if isinstance(value, Unknown):
            return value
        if attribute or not isinstance(value, tuple | list | dict):
            return Unknown(f"`{name}`")
        value = value[int(key) if key.isdigit() else key]
    return value


def substituted(text: Text, words: Mapping[str, Value], *, is_safe: bool) -> Text:
    """``string.Template(text).substitute(words)``, or ``safe_substitute``."""
    pieces, position = _Pieces(text), 0
    for found in _NAMED.finditer(text.value):
        pieces.literal(text.value[position : found.start()])
        position = found.end()
        name = found["plain"] or found["braced"]
        if found["escaped"]:
            pieces.literal("$")
        elif name in words or not is_safe:
            pieces.insert(words[name])
        else:
            pieces.literal(found[0])
    pieces.literal(text.value[position:])
    return pieces.whole()


def joined_by(text: Text, parts: Sequence[Value]) -> Text:
    """``text.join(parts)``."""
    texts: list[Text] = []
    for part in parts:
        if isinstance(part, Unknown):
            raise UnknownPartError(part.reason)
        if not isinstance(part, Text):
            raise TypeError
        texts += [text, part] if texts else [part]
    if sum(len(one.value) for one in texts) > LONGEST:
        raise OverflowError
    return joined(texts) if texts else at("", text.places[0])


def repeated(text: Text, count: int) -> Text:
    """``text * count``."""
    if len(text.value) * count > LONGEST:
        raise OverflowError
    return joined([text] * count) if count > 0 else at("", text.places[0])


def dedented(text: Text) -> Text:
    """``textwrap.dedent(text)``."""
    return Text(textwrap.dedent(text.value), text.places)


def _replaced(text: Text, old: Text, new: Text, count: int = -1) -> Text:
    if not old.value:
        raise ValueError
    if text.value.count(old.value) > _MOST_PARTS:
        raise OverflowError
    parts = text.value.split(old.value, count)
    pieces = _Pieces(text)
    for number, part in enumerate(parts):
        if number:
            pieces.insert(new)
            pieces._line += old.value.count("\n")  # noqa: SLF001 - what is left out
        pieces.literal(part)
    return pieces.whole()


def _sliced(text: Text, start: int, stop: int) -> Text:
    first = text.value.count("\n", 0, start)
    kept = text.value[start:stop]
    return Text(kept, text.places[first : first + kept.count("\n") + 1])


def sliced(text: Text, part: slice) -> Text:
    """``text[part]``, for a step of 1."""
    start, stop, step = part.indices(len(text.value))
    if step != 1:
        return at(text.value[part], text.places[0])
    return _sliced(text, start, max(start, stop))


def _stripping(name: str) -> Callable[..., Value]:
    def strip(text: Text, letters: Text | None = None) -> Text:
        kept = getattr(text.value, name)(None if letters is None else letters.value)
        whole = text.value.lstrip(None if letters is None else letters.value)
        start = 0 if name == "rstrip" else len(text.value) - len(whole)
        return _sliced(text, start, start + len(kept))

    return strip


def _split(text: Text, separator: Text | None = None, most: int = -1) -> list[Text]:
    parts = text.value.split(None if separator is None else separator.value, most)
    _few(parts)
    found, position, line = [], 0, 0
    for part in parts:
        start = text.value.index(part, position)
        line += text.value.count("\n", position, start)
        inner = part.count("\n")
        found.append(Text(part, text.places[line : line + inner + 1]))
        position, line = start + len(part), line + inner
    return found


def _split_lines(text: Text) -> list[Text]:
    lines = text.value.splitlines()
    _few(lines)
    return [Text(line, text.places[number : number + 1]) for number, line in enumerate(lines)]


def _few(parts: Sequence[str]) -> None:
    if len(parts) > _MOST_PARTS:
        raise OverflowError


def _same_lines(name: str) -> Callable[..., Value]:
    """A method that does not change the number of lines."""

    def changed(text: Text, *arguments: Value) -> Text:
        if any(isinstance(one, int) and one > _WIDEST for one in arguments):
            raise OverflowError
        value = getattr(text.value, name)(*map(plain, arguments))
        return Text(value, text.places)

    return changed


def _asking(name: str) -> Callable[..., Value]:
    return lambda text, *arguments: getattr(text.value, name)(*map(plain, arguments))


def _without_affix(name: str) -> Callable[..., Value]:
    def cut(text: Text, affix: Text) -> Text:
        kept = getattr(text.value, name)(affix.value)
        start = len(text.value) - len(kept) if name == "removeprefix" else 0
        return _sliced(text, start, start + len(kept))

    return cut


METHODS: Mapping[str, Callable[..., Value]] = {
    "replace": _replaced,
    "join": joined_by,
    "split": _split,
    "splitlines": _split_lines,
    **{name: _stripping(name) for name in ("strip", "lstrip", "rstrip")},
    **{name: _without_affix(name) for name in ("removeprefix", "removesuffix")},
    **{
        name: _same_lines(name)
        for name in ("lower", "upper", "title", "capitalize", "swapcase", "ljust", "rjust", "zfill")
    },
    **{
        name: _asking(name)
        for name in (
            *("startswith", "endswith", "find", "rfind", "index", "count", "isdigit"),
            *("isalpha", "isidentifier", "islower", "isupper", "isspace"),
        )
    },
}
"""Methods of ``str`` with positional arguments; `format` is `braces`."""


def key_of(value: Value) -> Value:
    """As `as_key`, for known values.

    Raises:
        UnknownPartError: the value is unknown.
    """
    if isinstance(value, Unknown):
        raise UnknownPartError(value.reason)
    return as_key(value)
