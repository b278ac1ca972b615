"""One place of the frame for several variables: the compiler reuses it where their lives are apart.

Which of them an access is follows from its line. Variables share a place only if none is in scope
on a line where another one is, or if no way leads from what uses one back to what uses the other: a
place is free for another variable once the last access of the first is over, although its scope
goes on. Accesses that became registers are no longer there.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from lmemscope.analysis.candidates import PADDING
from lmemscope.analysis.layout import Part, fits, is_reference, parts_of
from lmemscope.analysis.mentions import Mentions
from lmemscope.analysis.ptx.graph import ControlFlow
from lmemscope.analysis.ptx.objects import StackObject
from lmemscope.analysis.ptx.places import Place
from lmemscope.formats.ptx_body import Instruction
from lmemscope.model import Variable

_GAIN = 0.1
"""The share of the uses that several variables have to name beyond what a single one names."""


@dataclass(frozen=True, slots=True)
class Use:
    """An instruction that accesses an object or hands its address on.

    Attributes:
        instruction: which.
        index: of it.
        place: from the object's beginning; None of what is no access.
    """

    instruction: Instruction
    index: int
    place: Place | None


@dataclass(frozen=True, slots=True)
class Sharer:
    """A variable with its own part of an object's uses.

    Attributes:
        variable: which.
        found: the object as that variable uses it.
        is_exact: whether the object is as large, but for padding.
    """

    variable: Variable
    found: StackObject
    is_exact: bool


@dataclass(frozen=True, slots=True)
class _Claim:
    """Uses of an object that may be a variable's, by their numbers.

    Attributes:
        variable: whose.
        named: on whose lines it stands, in the direction of the use.
        live: on whose lines it is in scope.
    """

    variable: Variable
    named: frozenset[int]
    live: frozenset[int]


def sharers(
    owner: str,
    found: StackObject,
    uses: Sequence[Use],
    variables: Sequence[Variable],
    mentions: Mentions,
    flow: ControlFlow,
    single: Variable | None,
) -> tuple[Sharer, ...]:
    """The variables that an object is in turn, largest first; empty where it is one.

    Args:
        owner: mangled name of the function whose depot it is in.
        found: the object.
        uses: of it.
        variables: that it may be, those of the functions on the lines that are nothing else.
        mentions: what the lines say.
        flow: of the function.
        single: the one that it is, if it is one.
    """
    variables = [variable for variable in variables if _may_be(found, variable)]
    if len(variables) < 2:
        return ()
    first = _claim(owner, found, uses, single, mentions) if single is not None else None
    alone = len(first.named) if first is not None else 0
    if alone >= (1 - _GAIN) * len(uses):
        return ()
    claims = [claim for v in variables if (claim := _claim(owner, found, uses, v, mentions))]
    whole = [claim for claim in claims if found.size - claim.variable.size < PADDING]
    groups = [group for first in whole if len(group := _grown(first, claims, uses, flow)) > 1]
    most = max((len(_named(group)) for group in groups), default=0)
    groups = [group for group in groups if len(_named(group)) == most]
    alike = {frozenset(claim.variable for claim in group) for group in groups}
    if len(alike) != 1 or most <= alone + _GAIN * len(uses):
        return ()  # Nothing, or nothing that tells which of several.
    best = groups[0]
    best.sort(key=lambda claim: (-claim.variable.size, claim.variable.order))
    return tuple(
        Sharer(
            claim.variable,
            _own(found, claim.variable, {uses[number].index for number in numbers}),
            found.size - claim.variable.size < PADDING,
        )
        for claim, numbers in zip(best, _divided(uses, best), strict=True)
    )


def _claim(
    owner: str, found: StackObject, uses: Sequence[Use], variable: Variable, mentions: Mentions
) -> _Claim | None:
    """What speaks for a variable; None of what the object cannot be."""
    if not _may_be(found, variable):
        return None
    alike: dict[tuple[int, str], list[int]] = defaultdict(list)
    for number, use in enumerate(uses):
        # Whoever asks keeps the instructions, and these their locations: a line says one thing.
        alike[id(use.instruction.loc), use.instruction.operation].append(number)
    live: set[int] = set()
    named: set[int] = set()
    for numbers in alike.values():
        instruction = uses[numbers[0]].instruction
        if mentions.in_scope(owner, instruction, variable):
            live.update(numbers)
            if mentions.named_by(owner, instruction, variable):
                named.update(numbers)
    parts = parts_of(variable)
    if not named or not all(_takes(parts, variable, uses[number]) for number in named):
        return None
    is_read = any(uses[n].instruction.isa.access != "store" for n in named)
    return _Claim(variable, frozenset(named), frozenset(live)) if is_read else None


def _may_be(found: StackObject, variable: Variable) -> bool:
    """Whether an object is as large as an array or a structure, or larger."""
    is_aggregate = variable.type.endswith("]") or bool(variable.members)
    return 0 < variable.size <= found.size and is_aggregate and not is_reference(variable.type)


def _takes(parts: Sequence[Part], variable: Variable, use: Use) -> bool:
    """Whether a variable has a place for a use.

    Compilers load no more of an element than what is read of it.
    """
    place = use.place
    if place is None:
        return True
    if not _inside(place, variable):
        return False
    is_load = use.instruction.isa.access != "store"
    narrow = is_load and not place.step and place.start is not None
    units = [unit for part in parts for unit in part.units]
    if narrow and units and place.width < min(units):
        return True
    return fits(parts, place)


def _inside(place: Place, variable: Variable) -> bool:
    return bool(place.step) or place.start is None or place.start + place.width <= variable.size


def _grown(
    first: _Claim, claims: Sequence[_Claim], uses: Sequence[Use], flow: ControlFlow
) -> list[_Claim]:
    """A variable with others that may have its place in turn, while these name more uses.

    Of several that name as many, and could not be there both, none.
    """
    group = [first]
    rest = [claim for claim in claims if claim is not first]
    while True:
        last = group[-1]
        rest = [claim for claim in rest if _are_apart(last, claim, uses, flow)]
        most = max(map(_weight, rest), default=None)
        if most is None:
            return group
        more, *others = (claim for claim in rest if _weight(claim) == most)
        rivals = [claim for claim in others if not _are_apart(more, claim, uses, flow)]
        rest = [claim for claim in rest if claim is not more and claim not in rivals]
        if not rivals:
            group.append(more)


def _weight(claim: _Claim) -> tuple[int, int]:
    return len(claim.named), claim.variable.size


def _are_apart(one: _Claim, other: _Claim, uses: Sequence[Use], flow: ControlFlow) -> bool:
    """Whether two variables are nowhere in scope together, or nowhere in use together."""
    if one.live.isdisjoint(other.live):
        return True
    if not one.named.isdisjoint(other.named):
        return False
    return _follows(one, other, uses, flow) or _follows(other, one, uses, flow)


def _follows(first: _Claim, second: _Claim, uses: Sequence[Use], flow: ControlFlow) -> bool:
    """Whether one variable begins, with a store or a call, where the other is over for good."""
    earlier = [uses[number].index for number in first.named]
    later = [uses[number].index for number in second.named]
    begun = uses[min(second.named)].instruction.operation
    return begun != "ld" and not flow.leads(later, earlier)


def _named(group: Sequence[_Claim]) -> set[int]:
    return {number for claim in group for number in claim.named}


def _divided(uses: Sequence[Use], group: Sequence[_Claim]) -> list[set[int]]:
    """The uses of each: those that name it, else those where it alone is in scope.

    What is nobody's by that belongs to the next one.
    """
    whose = [_whose(number, group) for number in range(len(uses))]
    known = [k for k in whose if k is not None]
    following = known[-1]
    divided: list[set[int]] = [set() for _ in group]
    for number in range(len(uses) - 1, -1, -1):
        mine = whose[number]
        following = following if mine is None else mine
        divided[following].add(number)
    return divided


def _whose(number: int, group: Sequence[_Claim]) -> int | None:
    for claims in ([claim.named for claim in group], [claim.live for claim in group]):
        mine = [k for k, claim in enumerate(claims) if number in claim]
        if mine:
            return mine[0] if len(mine) == 1 else None
    return None


def _own(found: StackObject, variable: Variable, indices: set[int]) -> StackObject:
    exact = found.size - variable.size < PADDING
    return StackObject(
        found.offset,
        found.size if exact else variable.size,
        [access for access in found.accesses if access.index in indices],
        [(call, position) for call, position in found.passed_to if call.index in indices],
        [index for index in found.stored_at if index in indices],
    )
