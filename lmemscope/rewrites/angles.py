"""Whether an angle grows with what a program computes, so that nobody would promise it small.

As the text says it, through the definitions of variables: an angle is made of a power or the like,
or of more integers than it is divided by, such as ``2 * pi * row * column / n``. One that is a
single counter times a step is no such angle, since nothing tells how far it counts.
"""

from __future__ import annotations

import re

from lmemscope.formats.statements import closed_at
from lmemscope.model import SourceLocation, SourceText
from lmemscope.rewrites.loop_heads import loop_at
from lmemscope.rewrites.multiples_of_pi import factors_of
from lmemscope.rules.constants import kind_of, meaning, number_of

_POWER = re.compile(r"\b(?:pow|exp|exp2|exp10|ldexp|scalbl?n|tgamma|cosh|sinh)[fl]?\s*\(")
"""A function whose values grow beyond any bound that somebody would promise."""
_WORD = re.compile(r"(?<![\w.>])[A-Za-z_]\w*(?![\w(])")
_CAST = re.compile(r"(?:\(\s*(?:const\s+)?\w+\s*\)|(?:float|double)\s*(?=\())\s*")
_INTEGER = re.compile(
    r"(?:(?:un)?signed\s*)?(?:char|short|int|long|long long)?|u?int(?:8|16|32|64)?(?:_t)?"
    r"|size_t|ssize_t|ptrdiff_t|u(?:char|short|long)"
)
_DEPTH = 3
"""How many definitions of variables are followed."""
_FACTORS = 2
"""Integers from which on their product is said to grow with the sizes of a program."""


_SMALL = 64
"""What an integer may be up to: the product of two such and of 2 pi is no large angle."""
_REST = re.compile(r"[&%]\s*(\d+)\s*[uU]?\s*\)?$")
_ABOVE = 100
"""Lines above a line on which a loop around it begins."""


def is_growing(
    argument: str, sources: SourceText, place: SourceLocation, *, is_float: bool
) -> bool:
    """Whether an angle can be too large for a promise, for the sizes that a program has.

    Args:
        argument: as written.
        is_float: whether it is a float, of which the slow path begins at 105615. No sizes are
            known to make one of double reach 2^31, but a power may.
        sources: for definitions of variables and constants.
        place: the line that it stands on.
    """
    made = (meaning(name, sources, place) for name in set(_WORD.findall(argument)))
    values = (one.value for one in made if one is not None)
    if any(_POWER.search(one) is not None for one in (argument, *values)):
        return True
    if not is_float:
        return False
    above, below = _integers(argument, sources, place, _DEPTH)
    return above >= _FACTORS and above > below


def _integers(text: str, sources: SourceText, place: SourceLocation, depth: int) -> tuple[int, int]:
    """How many run-time integers a product has above its fraction bar, and below it."""
    found = [0, 0]
    factors = factors_of(text)
    if factors is None:
        return _of_sum(text, sources, place, depth)
    for start, end, divides in factors:
        for side, count in enumerate(_of_factor(text[start:end], sources, place, depth)):
            found[side ^ divides] += count
    return found[0], found[1]


def _of_factor(
    part: str, sources: SourceText, place: SourceLocation, depth: int
) -> tuple[int, int]:
    bare = part.strip().lstrip("+- ")
    while (cast := _CAST.match(bare)) is not None and cast.end() < len(bare):
        bare = bare[cast.end() :]
    if bare.startswith("(") and closed_at(bare, 0) == len(bare):
        return _integers(bare[1:-1], sources, place, depth)
    if _WORD.fullmatch(bare) is None or number_of(bare, sources, place) is not None:
        return 0, 0
    found = meaning(bare, sources, place) if depth else None
    kind = found.type if found is not None else kind_of(bare, sources, place)
    is_integer = kind is not None and _INTEGER.fullmatch(kind) is not None
    if is_integer and _is_small(bare, found.value if found is not None else "", sources, place):
        return 0, 0
    if found is None:
        return int(is_integer), 0
    above, below = _integers(found.value, sources, found.place, depth - 1)
    return max(above, int(is_integer)), below


def _is_small(name: str, value: str, sources: SourceText, place: SourceLocation) -> bool:
    """Whether an integer counts to a small constant, or is the rest of a division by one."""
    rest = _REST.search(value)
    if rest is not None and int(rest[1]) <= _SMALL:
        return True
    for line in range(place.line, max(place.line - _ABOVE, 0), -1):
        loop = loop_at(sources, place.file, line)
        if loop is not None and loop.counter == name:
            end = number_of(loop.bound or "", sources, SourceLocation(place.file, line))
            return end is not None and end <= _SMALL
    return False


def _of_sum(text: str, sources: SourceText, place: SourceLocation, depth: int) -> tuple[int, int]:
    """The largest of the products that a sum or difference has; nothing of all other operations."""
    terms, start, at = [], 0, 0
    while at < len(text):
        if text[at] in "([":
            closed = closed_at(text, at)
            if closed is None:
                return 0, 0
            at = closed
            continue
        if text[at] in "?:<>=&|^%,!~":
            return 0, 0
        if text[at] in "+-" and text[start:at].strip():
            terms.append(text[start:at])
            start = at + 1
        at += 1
    terms.append(text[start:])
    if len(terms) == 1:
        return 0, 0
    every = (_integers(one, sources, place, depth) for one in terms)
    return max(every, key=lambda one: one[0] - one[1])
