"""Functions that there are twice, for what is const and for what is not."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from lmemscope.formats.statements import closed_at, parts_of
from lmemscope.rewrites.base import Target

_CLASS = re.compile(
    r"\b(?:struct|class|union)\s+(?:\w+\s*\([^()]*\)\s*)?(?P<name>\w+)(?P<bases>[^;{}()=]*)\{"
)
_MEMBER = re.compile(
    r"(?P<name>\boperator\s*(?:\[\s*\]|\(\s*\)|[^\s\w()]{1,3})|(?<![\w~])[A-Za-z_]\w*)\s*"
    r"\((?P<given>[^(){};]*)\)\s*(?P<const>const\b)?[^(){};=]*[{;]"
)
_WORD = re.compile(r"[A-Za-z_]\w*")


@dataclass(frozen=True, slots=True)
class Overloaded:
    """A function that there is twice.

    Attributes:
        name: of it.
        where: the line of the one that takes what is const, as the end of a sentence has it.
    """

    name: str
    where: str


def member_overloads(target: Target, kind: str) -> Iterator[Overloaded]:
    """Members of a class, of its bases and of its members' classes that const chooses between.

    Args:
        target: in whose files classes are looked for.
        kind: the class's name.
    """
    bodies: dict[str, list[tuple[str, int, int]]] = {}
    for file in target.files:
        text = _code(target, file)
        for found in _CLASS.finditer(text):
            end = closed_at(text, found.end() - 1)
            if end is not None:
                bodies.setdefault(found["name"], []).append((file, found.start(), end))
    reached, waiting = {kind}, [kind]
    while waiting:
        for file, start, end in bodies.get(waiting.pop(), ()):
            text = _code(target, file)
            yield from _pairs(target, file, start, end)
            more = set(_WORD.findall(text[start:end])) & bodies.keys() - reached
            reached |= more
            waiting += more


def function_overload(target: Target, kind: str, called: Collection[str]) -> Overloaded | None:
    """A function among those of some names that takes a class by reference with and without const.

    Args:
        target: in whose files functions are looked for.
        kind: the class's name.
        called: names of functions.
    """
    head = re.compile(
        rf"(?<!\w)(?P<name>[A-Za-z_]\w*)\s*\((?:[^(){{}};]*,)?\s*(?P<const>const\s+)?"
        rf"{re.escape(kind)}\s*(?P<behind>const\s*)?[&*]"
    )
    found: dict[str, dict[bool, str]] = {}
    for file in target.files:
        text = _code(target, file)
        for one in head.finditer(text):
            if one["name"] in called:
                is_const = one["const"] is not None or one["behind"] is not None
                where = _where(target, file, text.count("\n", 0, one.start()) + 1)
                found.setdefault(one["name"], {}).setdefault(is_const, where)
    twice = (Overloaded(name, both[True]) for name, both in found.items() if len(both) > 1)
    return next(twice, None)


def _pairs(target: Target, file: str, start: int, end: int) -> Iterator[Overloaded]:
    """Those that a class's body declares itself."""
    text = _code(target, file)
    opening = text.index("{", start) + 1
    found: dict[tuple[str, int], dict[bool, int]] = {}
    for one in _MEMBER.finditer(_outer(text[opening : end - 1])):
        given = one["given"].strip()
        key = "".join(one["name"].split()), len([*parts_of(given)]) if given else 0
        line = text.count("\n", 0, opening + one.start()) + 1
        found.setdefault(key, {}).setdefault(one["const"] is not None, line)
    for (name, _), both in found.items():
        if len(both) > 1:
            yield Overloaded(name, _where(target, file, both[True]))


def _outer(body: str) -> str:
    """A body with blanks for what stands in inner braces."""
    made, depth = [], 0
    for char in body:
        depth -= char == "}"
        made.append(char if depth == 0 or char == "\n" else " ")
        depth += char == "{"
    return "".join(made)


def _where(target: Target, file: str, line: int) -> str:
    if os.path.abspath(file) == os.path.abspath(target.path):
        return f"on line {line}"
    return f"in {os.path.basename(file)}:{line}"


def _code(target: Target, file: str) -> str:
    return target.hits[0].case.sources.code(file)
