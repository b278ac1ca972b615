"""How many threads a kernel's blocks have: what it says itself, else what its launches say."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from lmemscope.formats.demangle import short_name
from lmemscope.formats.statements import parts_of
from lmemscope.model import SourceLocation, SourceText
from lmemscope.rules.base import Case
from lmemscope.rules.declared import rest_of_block
from lmemscope.rules.enclosing import heads

_NUMBER = re.compile(r"(\d+)[uUlL]*")
_NAME = re.compile(r"[A-Za-z_]\w*")
_DEPTH = 4
"""How many definitions of constants are followed."""
_NO_TYPES = frozenset("return else case goto throw new delete".split())
_LOOP = re.compile(r"(?:for|while|do)\b")
_CONSTANT = re.compile(r"\b(?:const|constexpr|enum)\b")


@dataclass(frozen=True, slots=True)
class Block:
    """The threads of a block.

    Attributes:
        threads: at most.
        described: where that is known from.
    """

    threads: int
    described: str


def block_of(case: Case) -> Block | None:
    """The block of ``__launch_bounds__``, else that of the launches in the kernel's own file, or
    in the source that includes it.

    None where neither says it, or where a launch's block is not a constant that can be read there.
    """
    bounds = case.facts.launch_bounds
    if bounds is not None and bounds.max_threads:
        text = f"the {bounds.max_threads} threads of __launch_bounds__"
        return Block(bounds.max_threads, text)
    home = case.facts.home
    if home is None or case.facts.kind != "entry":
        return None
    name = re.escape(short_name(case.facts.demangled).partition("<")[0].rpartition("::")[2])
    handed_on = re.compile(rf"(?<!\w){name}\s*(?:<[^;<>]*>\s*)?[,)]")
    launch = re.compile(rf"(?<!\w){name}\s*(?:<[^;{{}}]*?>)?\s*<<<(?P<shape>[^;]*?)>>>\s*\(")
    sizes = set()
    for file in dict.fromkeys((home, case.sources.main or home)):
        text = "\n".join(case.sources.bare_lines(file))
        if handed_on.search(text) is not None:
            return None  # Its address goes to whoever launches it.
        for found in launch.finditer(text):
            parts = [*parts_of(found["shape"])]
            place = SourceLocation(file, 1 + text.count("\n", 0, found.start()))
            sizes.add(_threads(parts[1], case.sources, place, _DEPTH) if len(parts) > 1 else None)
    known = [size for size in sizes if size is not None]
    if not known or len(known) != len(sizes):
        return None
    return Block(max(known), f"the {max(known)} threads that it is launched with")


def _threads(written: str, sources: SourceText, place: SourceLocation, depth: int) -> int | None:
    """A block as written, ``dim3(16, 16)`` or a number; None where it is no constant."""
    text = written.strip()
    shape = re.fullmatch(r"dim3\s*[({](.*)[)}]", text, re.DOTALL)
    if shape is not None:
        values = [_threads(part, sources, place, depth) for part in parts_of(shape.group(1))]
        known = [value for value in values if value is not None]
        return math.prod(known) if known and len(known) == len(values) else None
    number = _NUMBER.fullmatch(text)
    if number is not None:
        return int(number.group(1)) or None
    if text.startswith("(") and text.endswith(")") and len([*parts_of(text)]) == 1:
        inner = text[1:-1]
        if "(" not in inner:
            return _threads(inner, sources, place, depth)
    factors = text.split("*")
    if len(factors) > 1:
        values = [_threads(factor.strip(" ()"), sources, place, depth) for factor in factors]
        known = [value for value in values if value is not None]
        return math.prod(known) if len(known) == len(values) else None
    if not depth or not _NAME.fullmatch(text):
        return None
    given = _given(text, sources, place)
    return _threads(given[0], sources, given[1], depth - 1) if given is not None else None


def _given(
    name: str, sources: SourceText, place: SourceLocation
) -> tuple[str, SourceLocation] | None:
    """The value that a name has at a line, as the nearest definition in sight gives it, and where.

    None where it is a parameter, is changed, or is given no value there.
    """
    macro = re.compile(rf"\s*#\s*define\s+{name}\s+(?P<value>.+)")
    declared = re.compile(
        rf"(?:^|[\s(,;{{<])(?P<type>[A-Za-z_][\w:]*(?:<[^<>]*>)?)[\s*&]+{name}\s*"
        r"(?:=(?!=)\s*(?P<value>[^;]*)|[({](?P<made>[^;]*)[)}]\s*[;,]|(?P<bare>[,)>;\[]|$))"
    )
    among = re.compile(rf"^\s*[A-Za-z_][^()]*,\s*{name}\s*=(?!=)\s*(?P<value>[^;]*)")
    depth = 0
    for number in range(place.line, 0, -1):
        text = sources.line(place.file, number)
        here = SourceLocation(place.file, number)
        defined = macro.match(text)
        if defined is not None:
            return defined["value"].strip(), here
        outer = depth
        depth = max(depth + text.count("}") - text.count("{"), 0)
        if outer and depth:
            continue
        found = declared.search(text) or among.search(text)
        if found is None or found.groupdict().get("type") in _NO_TYPES:
            continue
        groups = found.groupdict()
        value = groups["value"] or groups.get("made")
        if value is None or value.count("(") != value.count(")"):
            return None  # A parameter, or a variable that gets its value elsewhere.
        if groups["value"] is not None:
            value = next(iter(parts_of(value)))
        is_constant = _CONSTANT.search(text[: found.end()]) is not None
        if not is_constant and _is_changed(name, _meantime(name, sources, here, place)):
            return None
        is_shape = groups.get("type") == "dim3" and groups["value"] is None
        return f"dim3({value})" if is_shape else value.strip(), here
    return None


def _meantime(
    name: str, sources: SourceText, declared: SourceLocation, used: SourceLocation
) -> str:
    """What may be executed between a variable's definition and a use of it."""
    text = rest_of_block(sources, declared, name)
    if any(_LOOP.match(head.text) for head in heads(sources, used) if head.line > declared.line):
        return text
    return "\n".join(text.split("\n")[: used.line - declared.line + 1])


def _is_changed(name: str, text: str) -> bool:
    """Whether a text gives a variable another value, or hands its address on."""
    return (
        re.search(
            rf"(?<![\w.>]){name}\s*(?:\.\s*[xyz]\s*)?(?:(?:[-+*/%|&^]|<<|>>)?=(?!=)|\+\+|--)"
            rf"|(?:\+\+|--|&|>>\s*){name}\b",
            text,
        )
        is not None
    )
