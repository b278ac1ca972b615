"""Functions that take something of a type by reference, as a file's text has them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from lmemscope.formats.statements import parts_of
from lmemscope.model.blanked import closed
from lmemscope.rewrites.seen import BODY, named

Taking = Literal["value", "const", "mutable", "anything"]
"""How a parameter is bound: a copy, ``const T &``, ``T &``, or ``T &&``."""

_LONGEST = 2000
ADDRESS = re.compile(
    rb"(?:[=(),{;:?+\-*/%!~|^]|\breturn)\s*&(?![&=])|\b(?:__builtin_)?addressof\b|\breinterpret_cast\b"
)
"""Code that takes an address; a parameter's `&` stands behind its type."""
_WORD = re.compile(rb"[A-Za-z_]\w*")
_QUALIFIERS = frozenset(b"const volatile __restrict__ register typename struct class".split())
_PRIMITIVE = frozenset(b"unsigned signed char short int long float double bool wchar_t".split())
_OPERATOR = re.compile(rb"\boperator\s*([^\w\s()][^\s()]{0,2}|\b\w+)\s*\(")
_VECTOR = re.compile(rb"(?:u?(?:char|short|int|long|longlong)|float|double)[1-4]")
_TO_VECTOR = re.compile(rb"\s*%b\s*&(?!&)\s*\w*\s*" % _VECTOR.pattern)
_COMPARING = (b"==", b"!=", b"<=", b">=")
_BASES = rb"\b(?:struct|class)\s+%b\s*(?:final\s*)?:(?!:)([^{};()]*)\{"
_ANY = re.compile(rb"(?:\b[A-Za-z_]\w*|\])\s*\(")
_ACCESS = frozenset((b"public", b"protected", b"private", b"virtual"))
_NO_FUNCTION = frozenset(b"if for while switch return sizeof defined decltype".split())


@dataclass(frozen=True, slots=True)
class Reference:
    """A function that takes something by reference.

    Attributes:
        name: of the function, empty of a lambda.
        taking: how.
        is_kept: whether it takes an address, or returns what it is given by reference.
    """

    name: bytes
    taking: Taking
    is_kept: bool


def taking_of(text: bytes, start: int) -> Iterator[tuple[Taking, bytes]]:
    """How a parameter list takes its arguments, and each as written.

    A call's list looks like one that takes values.

    Args:
        text: of a file.
        start: behind the bracket that opens the list.
    """
    at = closed(text, start, b"()", start + _LONGEST)
    for part in parts_of(text[start : at - 1].decode("latin-1")):
        # Two words with `&` between them are a parameter, or an expression that combines bits.
        written = part.encode("latin-1")
        if re.search(r"\w\s*>?\s*&&\s*(?:\.\.\.)?\s*\w*\s*$", part):
            yield "anything", written
        elif re.search(r"[\w>]\s*&\s*(?:__restrict__\s*)?\w*\s*$", part):
            yield ("const" if re.search(r"\bconst\b", part) else "mutable"), written
        else:
            yield "value", written


def takes_mutable(
    text: bytes, spelled_out: Callable[[tuple[Taking, bytes]], tuple[Taking, bytes]]
) -> bool:
    """Whether an operator takes an operand by a reference to what is not const.

    Vectors of the language's own aside, and what an assignment assigns to.

    Args:
        text: of a file.
        spelled_out: says how a parameter is taken whose type is another name of a reference.
    """
    for found in _OPERATOR.finditer(text):
        given = [spelled_out(one) for one in taking_of(text, found.end())]
        if found[1].endswith(b"=") and found[1] not in _COMPARING and len(given) > 1:
            given = given[1:]
        if any(
            taking in ("mutable", "anything") and _TO_VECTOR.fullmatch(written) is None
            for taking, written in given
        ):
            return True
    return False


def references(text: bytes, name: bytes | None, element: bytes) -> Iterator[Reference]:
    """The functions of a name that may take an element by reference.

    Args:
        text: of a file.
        name: of the function, such as ``operator<<``; None means any function, or lambda.
        element: the elements' type.
    """
    for found in _named(name).finditer(text):
        own = _WORD.findall(found[0])
        if name is None and own and own[-1] in _NO_FUNCTION:
            continue
        end = closed(text, found.end(), b"()", found.end() + _LONGEST)
        body = BODY.match(text, end)
        inside = b"" if body is None else text[end : closed(text, body.end(), b"{}")]
        if name is None and body is None:
            continue
        head = text[: found.start()].rstrip()
        trailing = b"" if body is None else body[0].partition(b"->")[2]
        returns_it = head.endswith((b"&", b"decltype(auto)")) or (
            b"&" in trailing or b"decltype" in trailing
        )
        for taking, part in taking_of(text, found.end()):
            base, _, behind = part.partition(b"&")
            if taking == "value" or not _may_be(base, element, text):
                continue
            given = (_WORD.findall(behind) or [b""])[0]
            handed = returns_it and re.search(rb"\breturn\b[^;]*\b%b\b" % given, inside) is not None
            is_kept = handed or ADDRESS.search(b"(" + inside) is not None
            yield Reference(name or b"", taking, is_kept)


def has_member_reference(text: bytes, start: int) -> bool:
    """Whether the class whose body begins at a place has a member that is a reference."""
    return re.search(rb"&\s*\w+\s*[;{=]", text[start : closed(text, start, b"{}")]) is not None


def _named(name: bytes | None) -> re.Pattern[bytes]:
    if name is None:
        return _ANY
    if not name.startswith(b"operator") or name[8:9].isalnum():
        return named(name)
    sign = rb"\s*".join(re.escape(name[at : at + 1]) for at in range(8, len(name)))
    return re.compile(rb"\boperator\s*%b\s*\(" % sign)


def _may_be(base: bytes, element: bytes, text: bytes) -> bool:
    """Whether a parameter's type may be that of elements, or a base class of it: it is, or nothing
    says what it is."""
    if not element:
        return True
    if b"*" in base or b"*" in element:
        return (b"*" in base) == (b"*" in element) or _is_open(_words(base), text)
    one, other = _words(base), _words(element)
    if {*one} <= _PRIMITIVE and {*other} <= _PRIMITIVE:
        return _plain(one) == _plain(other)
    if _is_open(one, text) or _is_open(other, text):
        return True
    if one[-1:] == other[-1:] or (b"<" in base and one[:1] == other[:1]):
        return True
    return _derives({*other}, {*one}, text)


def _derives(names: set[bytes], from_: set[bytes], text: bytes) -> bool:
    """Whether one of some classes has one of others as a base, or has bases out of sight."""
    pending, seen = names - _PRIMITIVE, set[bytes]()
    while pending:
        name = pending.pop()
        seen.add(name)
        bases = {
            word
            for found in re.findall(_BASES % re.escape(name), text)
            for word in _WORD.findall(found)
            if word not in _ACCESS
        }
        if bases & from_ or any(_is_open([one], text) for one in bases):
            return True
        pending |= bases - seen
    return False


def _words(type_: bytes) -> list[bytes]:
    return [one for one in _WORD.findall(type_) if one not in _QUALIFIERS]


def _is_open(words: list[bytes], text: bytes) -> bool:
    """Whether a type is a template's parameter, or another name of one."""
    if len(words) != 1 or words[0] in _PRIMITIVE or _VECTOR.fullmatch(words[0]) is not None:
        return False
    # A definition or declaration: `template <class T>` is neither.
    head = rb"\b(?:struct|class|union|enum)\s+%b\s*(?:final\b\s*)?[{:;]" % words[0]
    return re.search(head, text) is None


def _plain(words: Iterable[bytes]) -> tuple[bytes, ...]:
    """The words of a plain type in one order, without those that say nothing."""
    found = sorted(words)
    if found != [b"int"] and {b"short", b"long", b"unsigned"} & {*found}:
        found = [one for one in found if one != b"int"]
    if b"char" not in found:
        found = [one for one in found if one != b"signed"] or [b"int"]
    return tuple(found)
