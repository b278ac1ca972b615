"""Whether an argument is visibly pi times something, and what it is without pi."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from lmemscope.formats.statements import closed_at
from lmemscope.model import SourceLocation, SourceText
from lmemscope.rules.constants import meaning

_NUMBER = re.compile(r"(?P<digits>\d+\.\d*(?:[eE][-+]?\d+)?)(?P<suffix>[fFlL]?)")
_DECIMAL = re.compile(r"(?P<digits>\d++\.?\d*(?:[eE][-+]?\d+)?)(?P<suffix>[fFlL]?)")
_WORD = re.compile(r"[A-Za-z_]\w*(?:::\w+)*")
_ARCCOSINE = re.compile(r"(?:std::)?(?P<name>acosf?)\s*\(\s*-\s*1(?:\.0*)?[fF]?\s*\)")
_CONVENTIONS = re.compile(
    r"(?:CUDART_|M_|k|c_|_)?(?P<twice>2|TWO|two|two_)?_?(?:PI|Pi|pi)"
    r"(?:_?(?P<kind>F|D|f|d|float|double|Value|Const))?"
)
"""What constants of that value are called: ``M_PI``, ``CUDART_PI_F``, ``kPi``, ``twoPi``."""
_MULTIPLES = {math.pi / 2: "0.5", math.pi: "1.0", 2 * math.pi: "2.0", 4 * math.pi: "4.0"}
_PRECISION = 1e-6
"""How near to pi a number is that is meant to be: six digits."""
_DEPTH = 3
"""How many definitions of variables are followed."""
_JOINED = frozenset({"::", "->"})
_CASTS = re.compile(r"\((?:float|double|real|T|scalar_t)\)\s*")


@dataclass(frozen=True, slots=True)
class Factor:
    """What is multiplied with pi.

    Attributes:
        code: the argument with a number in place of pi; None where a variable holds the product.
        code_of_float: the same with a number of float, of an argument that is one: what a type
            stands for may differ between builds, and the number is as exact in both.
    """

    code: str | None
    code_of_float: str | None = None


def without_pi(argument: str, sources: SourceText, place: SourceLocation) -> Factor | None:
    """The argument without its factor pi; None where it is not visibly such a product.

    Args:
        argument: as written.
        sources: for definitions of variables and constants.
        place: the line that it stands on.
    """
    return _factor(argument.strip(), sources, place, _DEPTH)


def _factor(text: str, sources: SourceText, place: SourceLocation, depth: int) -> Factor | None:
    parts = factors_of(text)
    if parts is None:
        return None
    for start, end, divides in parts:
        part = text[start:end]
        if divides:
            continue
        bare = part.strip()
        lead = start + len(part) - len(part.lstrip())
        sign = re.match(r"[-+]\s*", bare)
        if sign is not None:
            bare, lead = bare[sign.end() :], lead + sign.end()
        cast = _CASTS.match(bare)
        if cast is not None:
            bare, lead = bare[cast.end() :], lead + cast.end()
        number = _as_number(bare, sources, place)
        if number is not None:
            before, behind = text[:lead], text[lead + len(bare) :]
            return Factor(before + number + behind, f"{before}{number.removesuffix('f')}f{behind}")
        if bare.startswith("(") and closed_at(bare, 0) == len(bare):
            inner = _factor(bare[1:-1], sources, place, depth)
            if inner is not None and inner.code is not None:
                before, behind = text[: lead + 1], text[lead + len(bare) - 1 :]
                return Factor(
                    f"{before}{inner.code}{behind}", f"{before}{inner.code_of_float}{behind}"
                )
            if inner is not None:
                return inner
        elif depth and _WORD.fullmatch(bare) and "::" not in bare:
            found = meaning(bare, sources, place)
            if found is not None and _factor(found.value, sources, found.place, depth - 1):
                return Factor(None)
    return None


def factors_of(text: str) -> list[tuple[int, int, bool]] | None:
    """The factors of a product as written: start, end, and whether it divides.

    None of what is no product, such as a sum. Of ``a * (b + c) / d`` these are three.
    """
    found, start, divides, at = [], 0, False, 0
    while at < len(text):
        char = text[at]
        if char in "([":
            closed = closed_at(text, at)
            if closed is None:
                return None
            at = closed
            continue
        if char in "*/":
            found.append((start, at, divides))
            start, divides = at + 1, char == "/"
        elif char in "+-" and text[at : at + 2] != "->":
            before = text[:at].rstrip()
            exponent = re.search(r"(?<!\d)\d++\.?\d*+[eE]$", before) is not None
            if before and not before.endswith(("*", "/")) and not exponent:
                return None
        elif char in "?:<>=&|^%,!~" and not {text[at : at + 2], text[at - 1 : at + 1]} & _JOINED:
            return None
        at += 1
    found.append((start, len(text), divides))
    return found


def _as_number(text: str, sources: SourceText, place: SourceLocation) -> str | None:
    """The number of half turns that stands for pi or a multiple; None of everything else."""
    number = _NUMBER.fullmatch(text)
    if number is not None:
        turns = _half_turns(float(number["digits"]))
        return f"{turns}{number['suffix'].lower()}" if turns is not None else None
    arccosine = _ARCCOSINE.fullmatch(text)
    if arccosine is not None:
        return "1.0f" if arccosine["name"] == "acosf" else "1.0"
    if _WORD.fullmatch(text) is None:
        return None
    name = text.rpartition("::")[2]
    value = _constant(name, sources, place)
    if value is not None:
        return value
    meant = _CONVENTIONS.fullmatch(name)
    if meant is None or _is_assigned(name, sources, place):
        return None
    turns = "2.0" if meant["twice"] else "1.0"
    return f"{turns}f" if (meant["kind"] or "") in ("F", "f", "float") else turns


def _half_turns(value: float) -> str | None:
    return next(
        (turns for pi, turns in _MULTIPLES.items() if abs(value - pi) < pi * _PRECISION), None
    )


def _constant(name: str, sources: SourceText, place: SourceLocation) -> str | None:
    """Half turns of a macro or constant whose value is a number, or a name of pi's or two pi's."""
    found = meaning(name, sources, place)
    if found is None:
        return None
    text = found.value.strip()
    if text.startswith("(") and closed_at(text, 0) == len(text):
        text = text[1:-1].strip()
    number = _DECIMAL.fullmatch(text)
    twice = re.fullmatch(r"2(?:\.0*)?[fF]?\s*\*\s*(?P<word>\w+)", text)
    turns = None
    if number is not None:
        turns = _half_turns(float(number["digits"]))
    elif _ARCCOSINE.fullmatch(text) is not None:
        turns = "1.0"
    elif (meant := _CONVENTIONS.fullmatch(text)) is not None:
        turns = "2.0" if meant["twice"] else "1.0"
    elif twice is not None and _CONVENTIONS.fullmatch(twice["word"]) is not None:
        turns = "2.0"
    if turns is None:
        return None
    is_float = found.type == "float" or (number is not None and number["suffix"] in ("f", "F"))
    return f"{turns}f" if is_float else turns


def _is_assigned(name: str, sources: SourceText, place: SourceLocation) -> bool:
    """Whether a file gives a name a value that is not known to be pi's."""
    pattern = re.compile(rf"#\s*define\s+{name}\s|(?<![\w.])\b{name}\s*=(?!=)")
    return bool(sources.matching(place.file, pattern))
