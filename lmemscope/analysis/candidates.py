"""Variables that a stack object may be, with what speaks for each: type, size, lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from lmemscope.analysis.layout import (
    Part,
    fits,
    is_array,
    is_reference,
    is_volatile,
    parts_of,
)
from lmemscope.analysis.mentions import AccessLines, Mentions
from lmemscope.analysis.ptx.places import Place
from lmemscope.formats.statements import Statement, Subscript
from lmemscope.model import SourceLocation, Variable, is_library

PADDING = 16
"""The next object begins at most so many bytes, less one, behind the end of one: alignment."""
ENOUGH = 0.5
"""The share of accesses whose lines have to name a variable for them to speak for it."""
_UNSAID = 0.75
"""What a mention of a variable counts for a member of it that no line names."""


@dataclass(frozen=True, slots=True)
class Shape:
    """An object as its accesses show it.

    Attributes:
        size: bytes, padding included.
        places: of its accesses, from its own beginning.
        padding: bytes that the next object's alignment may have added behind it, at most.
    """

    size: int
    places: tuple[Place, ...]
    padding: int = PADDING - 1

    @property
    def is_indexed(self) -> bool:
        """Whether any access has an index."""
        return any(place.step for place in self.places)

    def ends_behind(self, size: int) -> bool:
        """Whether most constant places in it are behind so many bytes: that is no padding.

        A few tell nothing: loops are unrolled beyond an array's end, and beyond the object's.
        """
        ends = [p.start + p.width for p in self.places if p.start is not None and not p.step]
        inside = [end for end in ends if end <= self.size]
        return 2 * sum(end > size for end in inside) > len(inside)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A variable, or an array or record in it, that an object may be.

    Attributes:
        variable: whose.
        part: of it.
        slack: bytes of padding; negative where the object is smaller.
        mention: share of the accesses whose lines name it; less where none names the member.
        fit: share of the accesses that its type has a place for.
        repeats: whether it may be several objects: its function is inlined.
        coverage: share of the accesses that are in its function.
        is_copied: whether it is the parameter that the object is filled from.
        is_subscripted: whether a run-time subscript of it stands where an index is computed.
    """

    variable: Variable
    part: Part
    slack: int
    mention: float
    fit: float
    repeats: bool
    coverage: float = 1.0
    is_copied: bool = False
    is_subscripted: bool = False

    @property
    def is_exact(self) -> bool:
        """Whether the sizes agree but for padding."""
        return 0 <= self.slack < PADDING

    @property
    def is_aggregate(self) -> bool:
        """Whether it is an array or a record."""
        return self.part.is_array or bool(self.variable.members)

    @property
    def stays_in_memory(self) -> bool:
        """Whether it is an aggregate, or volatile: most other numbers are in registers."""
        return self.is_aggregate or bool(is_volatile(self.part.type))

    @property
    def offset(self) -> int | None:
        """Where in the variable the object begins; None of some of a variable."""
        return self.part.offset if self.slack >= 0 else None

    @property
    def is_librarys_scalar(self) -> bool:
        """Whether it is a library's, and no aggregate: what that passes on is its user's."""
        return not self.is_aggregate and is_library(self.variable.file)

    @property
    def is_named(self) -> bool:
        """Whether enough lines name it, or its own bytes are in the object."""
        return self.mention >= ENOUGH or self.is_copied

    @property
    def agrees(self) -> bool:
        """Whether size, type and lines all speak for it."""
        return self.is_exact and self.is_named and self.fit == 1.0

    @property
    def score(self) -> float:
        """Orders candidates: lines count most, then types, then sizes."""
        score = 6.0 * self.mention + 4.0 * self.fit + 0.5 * self.is_copied
        score += 3.0 * self.is_exact + 3.5 * self.stays_in_memory + self.coverage
        score += 0.75 * self.is_subscripted
        return score - 0.01 * abs(self.slack)


def candidates_of(
    owner: str,
    shape: Shape,
    lines: AccessLines,
    indexed: AccessLines,
    variables: Sequence[Variable],
    mentions: Mentions,
    copied: str | None = None,
) -> list[Candidate]:
    """What an object may be.

    An index selects among the elements of an array: a scalar is no candidate for an indexed
    object, nor is a part of an array's elements.

    Args:
        owner: mangled name of the function whose depot it is in.
        shape: the object.
        lines: behind its accesses.
        indexed: behind those with an index.
        variables: of the functions on these lines.
        mentions: what the lines say.
        copied: the name of the parameter that it is filled from.
    """
    result: list[Candidate] = []
    only = _only_indexed(owner, shape, indexed, variables, mentions)
    for variable in variables:
        if not variable.size or is_reference(variable.type) or variable.name == "this":
            continue
        slack = shape.size - variable.size
        if slack >= PADDING or (slack > shape.padding and not shape.places):
            continue
        mention = mentions.share(owner, lines, variable)
        if mention < ENOUGH and variable == only:
            # Compilers move loads at constant places to the line of whatever comes first.
            mention = ENOUGH
        parts = parts_of(variable)
        if mention < ENOUGH and slack < 0 and not variable.members:
            continue  # neither named nor of the size
        if shape.is_indexed and not (variable.members or is_array(variable.type)):
            continue
        repeats = variable.function != owner
        whole = Candidate(
            variable,
            parts[0],
            slack,
            mention,
            _fit(parts, parts[0] if slack >= 0 else None, shape),
            repeats,
            mentions.coverage(owner, lines, variable) if repeats else 1.0,
            copied == variable.name and variable.is_parameter and not repeats,
            shape.is_indexed and is_subscripted_on(owner, indexed, variable, mentions),
        )
        may_be_whole = slack >= 0 or parts[0].is_array or not shape.is_indexed
        if may_be_whole and not (slack > 0 and shape.ends_behind(variable.size)):
            result.append(whole)
        if slack < 0:
            result += _members(whole, parts[1:], shape, lines, mentions)
    return result


def _only_indexed(
    owner: str,
    shape: Shape,
    indexed: AccessLines,
    variables: Sequence[Variable],
    mentions: Mentions,
) -> Variable | None:
    """The only variable of an indexed object's size that all lines with an index name."""
    found = [
        variable
        for variable in (variables if shape.is_indexed else ())
        if 0 <= shape.size - variable.size < PADDING
        and mentions.share(owner, indexed, variable) == 1.0
    ]
    return found[0] if len(found) == 1 else None


def _members(
    whole: Candidate, parts: Sequence[Part], shape: Shape, lines: AccessLines, mentions: Mentions
) -> Iterator[Candidate]:
    """The parts of a record as large as an object: compilers keep the others in registers."""
    for part in parts:
        left = shape.size - part.size
        if not 0 <= left < PADDING or (left and shape.ends_behind(part.size)):
            continue
        is_said = mentions.any_says(lines, part.path.rpartition(".")[2])
        yield replace(
            whole,
            part=part,
            slack=left,
            mention=whole.mention * (1.0 if is_said else _UNSAID),
            fit=_fit([p for p in parts if p.path.startswith(part.path)], part, shape),
        )


def is_subscripted_on(
    owner: str, indexed: AccessLines, variable: Variable, mentions: Mentions
) -> bool:
    """Whether a line of an indexed access subscripts a variable of its function at run time.

    What an operator of a class subscripts is accessed on the operator's lines.
    """
    names = mentions.spellings(variable)
    is_class = bool(variable.members) and "[" not in variable.type
    frames = [chain[0] for chain, _, _ in indexed.chains if chain]
    return any(
        subscript.path[0] in names
        and not subscript.is_constant
        and not (is_class and subscript.path == (variable.name,))
        for frame in frames
        if (frame.function or owner) == variable.function
        for text in (mentions.statement(frame), *mentions.levels(frame))
        for subscript in subscripts_of(text)
    )


@lru_cache(maxsize=1 << 10)
def subscripts_of(text: str) -> tuple[Subscript, ...]:
    """The subscripts in a line or a statement."""
    return Statement(text, [0], 1).subscripts


def is_begun_on(owner: str, lines: AccessLines, variable: Variable) -> bool:
    """Whether anything is stored on the line that declares a function's own variable."""
    declared = SourceLocation(variable.file, variable.line)
    return not variable.is_parameter and any(
        is_store and (frame.function or owner) == variable.function and frame.location == declared
        for chain, is_store, _ in lines.chains
        for frame in chain
    )


def _fit(parts: Sequence[Part], whole: Part | None, shape: Shape) -> float:
    """The share of an object's accesses that a type has a place for; the indexed ones count.

    Without the part that the object is the whole of, it is not known where in the type it begins.
    """
    places = [place for place in shape.places if place.step] or list(shape.places)
    if not places:
        return 1.0
    moved = [
        Place(
            None if place.start is None or whole is None else place.start + whole.offset,
            place.step,
            place.width,
        )
        for place in places
    ]
    return sum(fits(parts, place) for place in moved) / len(moved)
