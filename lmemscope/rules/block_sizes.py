"""How many threads and blocks a launch has, of what stands between its chevrons."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

from lmemscope.formats.statements import closed_at, parts_of
from lmemscope.model import SourceLocation, SourceText
from lmemscope.rules.constants import meaning, number_of
from lmemscope.rules.declared import rest_of_block
from lmemscope.rules.remembered import Remembered
from lmemscope.rules.scopes import is_declared_at
from lmemscope.rules.unchanged import changes

_EXTENTS: Remembered[
    tuple[str, SourceLocation, frozenset[tuple[str, int]]], tuple[int, ...] | None
] = Remembered()
_NAME = re.compile(r"[A-Za-z_]\w*")
_DEPTH = 4
"""How many definitions of blocks are followed."""
_REACH = 60
"""Lines above a launch on which its block may be put together."""
_VALUE = 200
"""Characters of a value that is followed."""
_CHOICE = re.compile(r"(?:\w+\s*::\s*)*(?:min|max)\s*(?:<[^;{}()<>]*>\s*)?\(")
_SCOPE = "\0"
"""What stands for ``::`` where colons are looked for."""
_INTEGER = re.compile(r"(\d+)[uUlL]*")


def threads_of(
    written: str, sources: SourceText, place: SourceLocation, given: Mapping[str, int]
) -> int | None:
    """Threads of a block as a launch has it written; None where that is no constant in sight.

    Args:
        written: the expression.
        sources: where names are looked up.
        place: of the launch.
        given: what names among the launch's template arguments are.
    """
    return math.prod(extents_of(written, sources, place, given) or (0,)) or None


def extents_of(
    written: str, sources: SourceText, place: SourceLocation, given: Mapping[str, int]
) -> tuple[int, ...] | None:
    """A block or grid as written, ``dim3(16, 16)`` or a number; None where it is no constant."""
    key = (written, place, frozenset(given.items()))
    return _EXTENTS.of(sources, key, lambda: _extents(written, sources, place, given, _DEPTH))


def number_given(
    written: str, sources: SourceText, place: SourceLocation, given: Mapping[str, int]
) -> int | None:
    """A number as a launch has it written, such as bytes; None where it is no constant in sight."""
    return _number(written, sources, place, given, _DEPTH)


def threads_among(
    written: str,
    sources: SourceText,
    place: SourceLocation,
    given: Mapping[str, int],
    depth: int = _DEPTH,
) -> frozenset[int | None]:
    """The same where an expression chooses: each that it may be, None for what is unknown."""
    known = threads_of(written, sources, place, given)
    if known is not None or not depth:
        return frozenset({known})
    text = written.strip()
    if _NAME.fullmatch(text) and text not in given:
        found = meaning(text, sources, place)
        if found is None or found.is_made:
            return frozenset({None})
        return threads_among(found.value, sources, found.place, given, depth - 1)
    choices = alternatives(text) or (None,)
    return frozenset().union(
        *(
            threads_among(one, sources, place, given, depth - 1) if one is not None else {None}
            for one in choices
        )
    )


def template_arguments(short: str) -> tuple[str, ...]:
    """The template arguments of an instance, ``("float", "4")`` of ``ns::k<float, 4>``."""
    inside = short.partition("<")[2].rpartition(">")[0]
    return tuple(part.strip() for part in parts_of(inside)) if inside else ()


def arguments_given(
    written: str | None, own: tuple[str, ...], sources: SourceText, place: SourceLocation
) -> Mapping[str, int] | None:
    """The numbers that names among a launch's template arguments have where it launches a kernel.

    None where another number stands there than the kernel is an instance for: a launch of another
    instance. An argument is a constant, so whatever the name is, it has the instance's value.
    """
    given: dict[str, int] = {}
    for argument, value in zip(parts_of(written or ""), own, strict=False):
        text, number = argument.strip(), _INTEGER.fullmatch(value)
        if number is None:
            continue
        known = number_of(text, sources, place)
        if known is not None and known != int(number[1]):
            return None
        if known is None and _NAME.fullmatch(text):
            given[text] = int(number[1])
    return given


def _extents(
    written: str,
    sources: SourceText,
    place: SourceLocation,
    given: Mapping[str, int],
    depth: int,
) -> tuple[int, ...] | None:
    text = written.strip()
    shape = re.fullmatch(r"dim3\s*[({](.*)[)}]", text, re.DOTALL)
    if shape is not None:
        values = [_number(part, sources, place, given, depth) for part in parts_of(shape.group(1))]
        known = [value for value in values if value is not None]
        return tuple(known) if known and len(known) == len(values) else None
    if depth and _NAME.fullmatch(text) and text not in given:
        found = meaning(text, sources, place)
        if found is None:
            return _of_members(text, sources, place, given, depth)
        value = found.value
        if found.type == "dim3" and (found.is_made or value.startswith("{")):
            value = f"dim3({value.strip('{}')})"
        return _extents(value, sources, found.place, given, depth - 1)
    number = _number(text, sources, place, given, depth)
    return (number,) if number is not None else None


def _of_members(
    name: str,
    sources: SourceText,
    place: SourceLocation,
    given: Mapping[str, int],
    depth: int,
) -> tuple[int, ...] | None:
    """A ``dim3`` without a value, of what is assigned to its members before a launch, once each.

    None where something else changes it, or a condition decides.
    """
    declared = re.compile(rf"\bdim3\s+(?:\w+\s*,\s*)*{name}\s*[;,]")
    assigned = re.compile(rf"(?<![\w.>]){name}\s*\.\s*([xyz])\s*=(?!=)\s*([^;,]{{1,{_VALUE}}});")
    for number in range(place.line, max(0, place.line - _REACH), -1):
        if declared.search(sources.line(place.file, number)) is None:
            continue
        here = SourceLocation(place.file, number)
        if not is_declared_at(name, sources, place, number):
            return None
        block = rest_of_block(sources, here, name)
        found = dict(assigned.findall(block))
        if len(found) != len(changes(name, block)) or _is_conditional(name, block):
            return None
        values = {
            member: _number(value, sources, place, given, depth - 1)
            for member, value in found.items()
        }
        sides = [values.get(member, 1) for member in "xyz"]
        known = [side for side in sides if side is not None]
        return tuple(known) if found and len(known) == len(sides) else None
    return None


def _is_conditional(name: str, text: str) -> bool:
    """Whether an assignment to a member stands behind a condition, or within its braces."""
    member = re.compile(rf"(?<![\w.>]){name}\s*\.\s*[xyz]\s*=(?!=)")
    return any(
        text.count("{", 0, one.start()) > text.count("}", 0, one.start())
        or text[: one.start()].rstrip()[-1:] not in (";", "}", "{", ",", "")
        for one in member.finditer(text)
    )


def _number(
    written: str,
    sources: SourceText,
    place: SourceLocation,
    given: Mapping[str, int],
    depth: int,
) -> int | None:
    """An integer as written, where some names have the values of a launch's arguments."""

    def value(found: re.Match[str]) -> str:
        name = found[0]
        if name not in given and depth and (meant := meaning(name, sources, place)) is not None:
            inner = _number(meant.value, sources, meant.place, given, depth - 1)
            return str(inner) if inner is not None else name
        return str(given.get(name, name))

    return number_of(_NAME.sub(value, written) if given else written, sources, place)


def is_flat(written: str, sources: SourceText, place: SourceLocation, depth: int = _DEPTH) -> bool:
    """Whether a block as written has threads in x alone: ``dim3(32, 8)`` has not."""
    text = written.strip()
    shape = re.fullmatch(r"dim3\s*[({](.*)[)}]", text, re.DOTALL)
    if shape is not None:
        return all(number_of(one, sources, place) == 1 for one in [*parts_of(shape[1])][1:])
    if not depth or _NAME.fullmatch(text) is None:
        return True
    found = meaning(text, sources, place)
    if found is None:
        above = range(place.line, max(0, place.line - _REACH), -1)
        given = re.compile(rf"(?<![\w.>]){text}\s*\.\s*[yz]\s*=(?!=)")
        return not any(given.search(sources.line(place.file, number)) for number in above)
    value = found.value
    if found.type == "dim3" and (found.is_made or value.startswith("{")):
        value = f"dim3({value.strip('{}')})"
    return is_flat(value, sources, found.place, depth - 1)


def alternatives(written: str) -> tuple[str, ...]:
    """What an expression chooses from: the arms of ``?:``, the arguments of ``min`` and ``max``.

    Empty where it is neither.
    """
    text = written.strip()
    while text.startswith("(") and closed_at(text, 0) == len(text):
        text = text[1:-1].strip()
    _, *arms = parts_of(text, "?")
    if arms:
        first, *others = parts_of("?".join(arms).replace("::", _SCOPE), ":")
        if others:
            both = (first, ":".join(others))
            return tuple(one.replace(_SCOPE, "::").strip() for one in both)
    call = _CHOICE.match(text)
    if call is not None and closed_at(text, call.end() - 1) == len(text):
        return tuple(one.strip() for one in parts_of(text[call.end() : -1]))
    return (text,) if text != written.strip() else ()
