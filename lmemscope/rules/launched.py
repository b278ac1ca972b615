"""How many threads a kernel's blocks have: what it says itself, else what its launches say."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from lmemscope.formats.demangle import short_name
from lmemscope.formats.statements import parts_of
from lmemscope.model import SourceText
from lmemscope.rules.base import Case

_NUMBER = re.compile(r"(\d+)[uUlL]*")
_NAME = re.compile(r"[A-Za-z_]\w*")
_DEPTH = 4
"""How many definitions of constants are followed."""


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
    """The block of ``__launch_bounds__``, else that of the launches in the kernel's own file.

    None where neither says it, or where a launch's block is not a constant that can be read there.
    """
    bounds = case.facts.launch_bounds
    if bounds is not None and bounds.max_threads:
        text = f"the {bounds.max_threads} threads of __launch_bounds__"
        return Block(bounds.max_threads, text)
    home = case.facts.home
    if home is None or case.facts.kind != "entry":
        return None
    name = short_name(case.facts.demangled).partition("<")[0].rpartition("::")[2]
    launch = re.compile(rf"(?<!\w){re.escape(name)}\s*(?:<[^;]*>)?\s*<<<(?P<shape>.*)")
    sizes = set()
    for line in case.sources.matching(home, launch):
        found = launch.search(line)
        assert found is not None
        parts = [*parts_of(found["shape"].partition(">>>")[0])]
        sizes.add(_threads(parts[1], case.sources, home, _DEPTH) if len(parts) > 1 else None)
    known = [size for size in sizes if size is not None]
    if not known or len(known) != len(sizes):
        return None
    return Block(max(known), f"the {max(known)} threads that it is launched with")


def _threads(written: str, sources: SourceText, file: str, depth: int) -> int | None:
    """A block as written, ``dim3(16, 16)`` or a number; None where it is no constant."""
    text = written.strip()
    shape = re.fullmatch(r"dim3\s*[({](.*)[)}]", text)
    if shape is not None:
        return _product(shape.group(1), sources, file, depth)
    value = _value(text, sources, file, depth)
    if value is not None or not _NAME.fullmatch(text):
        return value
    made = re.compile(rf"(?<!\w){text}\s*(?:=\s*dim3\s*)?[({{](?P<shape>[^;]*)[)}}]\s*[;,]")
    declared = re.compile(rf"\bdim3\b[^;]*(?<!\w){text}\b|(?<!\w){text}\s*(?:\.\s*[xyz]\s*)?=(?!=)")
    shapes = set()
    for line in sources.matching(file, declared):
        found = made.search(line)
        if found is None:
            return None
        shapes.add(_product(found["shape"], sources, file, depth))
    return shapes.pop() if len(shapes) == 1 else None


def _product(arguments: str, sources: SourceText, file: str, depth: int) -> int | None:
    values = [_value(part.strip(), sources, file, depth) for part in parts_of(arguments)]
    known = [value for value in values if value is not None]
    return math.prod(known) if known and len(known) == len(values) else None


def _value(text: str, sources: SourceText, file: str, depth: int) -> int | None:
    """A number, a product of numbers, or a name that a file gives one value only."""
    number = _NUMBER.fullmatch(text)
    if number is not None:
        return int(number.group(1)) or None
    factors = text.split("*")
    if len(factors) > 1:
        values = [_value(factor.strip(" ()"), sources, file, depth) for factor in factors]
        known = [value for value in values if value is not None]
        return math.prod(known) if len(known) == len(values) else None
    if not depth or not _NAME.fullmatch(text):
        return None
    given = re.compile(
        rf"#\s*define\s+{text}\s+(?P<macro>.+)|(?<![\w.>]){text}\s*=(?!=)\s*(?P<value>[^;,]+)"
        rf"|(?:\+\+|--|>>\s*|&){text}\b|(?<![\w.>]){text}\s*(?:\+\+|--|[-+*/]=)"
    )
    values_given = set()
    for line in sources.matching(file, given):
        found = given.search(line)
        assert found is not None
        written = found["macro"] or found["value"]
        if written is None:
            return None
        values_given.add(_value(written.strip(" ()"), sources, file, depth - 1))
    return values_given.pop() if len(values_given) == 1 else None
