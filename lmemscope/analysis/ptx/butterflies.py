"""Butterflies: values that lanes combine pairwise until all of them hold one.

``v = v + shfl.bfly(v, 16)`` gives lanes ``l`` and ``l ^ 16`` one value, since both add the same two
numbers and the order of two summands does not matter. What was the same in lanes ``l`` and
``l ^ m`` before stays so. When the masks of the stages span the five bits of a lane's number, all
lanes hold one value. That the operation is associative is not needed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from itertools import product

from lmemscope.analysis.ptx.affine import LANES, Affine
from lmemscope.analysis.ptx.conditions import Comparison, Compound, Condition, Conditions
from lmemscope.analysis.ptx.definitions import Definitions
from lmemscope.analysis.ptx.parts import Part, Parts
from lmemscope.analysis.ptx.values import Value, Values
from lmemscope.formats.ptx_isa import COMPARISONS
from lmemscope.formats.ptx_operands import is_float

_STAGES = 16
"""How many stages are followed; five are enough where none is in vain."""
_COMPARED = 3
"""How many values the lanes of a pair may compare: keys, and what breaks ties."""
_TREE = 12
"""How deep choices may be nested."""
_LESS, _EQUAL, _GREATER = -1, 0, 1
_RELATIONS = {
    name: {one for one in (_LESS, _EQUAL, _GREATER) if holds(one, _EQUAL)}
    for name, holds in COMPARISONS.items()
}

_Compared = tuple[Part, str]
"""Two lanes' values that are compared, and the type that they are compared as."""

_Test = Callable[[Mapping[_Compared, int]], bool]
"""What follows from how the values of two lanes compare."""


class Butterflies:
    """Butterflies of one function.

    Args:
        code: the function.
        values, affine, conditions: its own.
    """

    def __init__(
        self, code: Definitions, values: Values, affine: Affine, conditions: Conditions
    ) -> None:
        self._instructions, self._values = code.body.instructions, values
        self._conditions = conditions
        self._parts = Parts(code, values, affine)

    def is_complete(self, index: int) -> bool:
        """Whether an instruction is the last stage of a butterfly over a whole warp."""
        if not self._has_any or self._stage(index) is None:
            return False
        return len(self._same(index, _STAGES)) == LANES

    @cached_property
    def _has_any(self) -> bool:
        return any(
            instruction.operation == "shfl" and "bfly" in instruction.modifiers
            for instruction in self._instructions
        )

    def _same(self, index: Value, stages: int) -> frozenset[int]:
        """Masks ``m`` for which lanes ``l`` and ``l ^ m`` hold one value."""
        stage = self._stage(index) if index >= 0 and stages else None
        if stage is None:
            return frozenset({0})
        mask, parts = stage
        before = [self._same(part.value, stages - 1) for part in parts]
        shared = frozenset.intersection(*before)
        return shared | {one ^ mask for one in shared}

    def _stage(self, index: int) -> tuple[int, list[Part]] | None:
        """The mask of a stage, and the values that it combines; None for any other instruction."""
        instruction = self._instructions[index]
        is_choice = instruction.isa.kind == "choice"
        if instruction.predicate is not None or len(instruction.operands) < 3:
            return None
        if not is_choice and not instruction.isa.commutes:
            return None
        parts = [self._parts.of(index, operand) for operand in instruction.operands[1:3]]
        if is_choice:
            shuffled = next((part for part in parts if part is not None and part.mask), None)
            return self._choice(index, shuffled) if shuffled is not None else None
        first, second = parts
        if first is None or second is None or first.of_lane() != second.of_lane():
            return None
        mask = first.mask ^ second.mask
        return (mask, [first.of_lane()]) if mask and len(instruction.operands) == 3 else None

    def _choice(self, index: int, other: Part) -> tuple[int, list[Part]] | None:
        """A stage that takes one lane's value: both lanes take the same, whatever they compare.

        Args:
            index: the instruction that takes it, last.
            other: the other lane's value, as it is among its operands.
        """
        compared: dict[_Compared, None] = {}
        takes_other = self._taken(index, other, compared, _TREE)
        parts = list(dict.fromkeys(part for part, _ in compared))
        if takes_other is None or len(compared) > _COMPARED:
            return None
        for relations in product(*(_relations(part, compared) for part in parts)):
            here = {key: relation for one in relations for key, relation in one.items()}
            there = {key: -relation for key, relation in here.items()}
            alike = any(part == other.of_lane() and not here[part, kind] for part, kind in here)
            if takes_other(here) == takes_other(there) and not alike:
                return None
        return other.mask, list(dict.fromkeys([other.of_lane(), *parts]))

    def _taken(
        self, index: int, other: Part, compared: dict[_Compared, None], depth: int
    ) -> _Test | None:
        """Whether a choice, or one of several that are nested, takes the other lane's value."""
        operands = self._instructions[index].operands
        given: list[_Test] = []
        for operand in operands[1:3]:
            part = self._parts.of(index, operand)
            if part is not None and part.of_lane() == other.of_lane():
                if part.mask not in (0, other.mask):
                    return None
                given.append(_always(taken=part.mask == other.mask))
                continue
            value = self._values.read(index, operand) if isinstance(operand, str) else None
            if value is None or value < 0 or not depth:
                return None
            nested = self._instructions[value]
            if nested.isa.kind != "choice" or nested.predicate is not None:
                return None
            inner = self._taken(value, other, compared, depth - 1)
            if inner is None:
                return None
            given.append(inner)
        condition = self._conditions.read(index, operands[3])
        test = self._test(condition, (other.mask, 0), compared)
        return None if test is None else _chosen(test, *given)

    def _test(
        self, condition: Condition, masks: tuple[int, int], compared: dict[_Compared, None]
    ) -> _Test | None:
        """A condition as a function of how the values of two lanes compare; None for any other.

        Args:
            condition: of a choice.
            masks: of the two lanes: relations are those of the first to the second.
            compared: gets what it compares.
        """
        if isinstance(condition, Comparison):
            return self._comparison(condition, masks, compared)
        if not isinstance(condition, Compound):
            return None
        tests = [self._test(part, masks, compared) for part in condition.parts]
        given = [test for test in tests if test is not None]
        return _joined(condition.join, given) if len(given) == len(tests) else None

    def _comparison(
        self, one: Comparison, masks: tuple[int, int], compared: dict[_Compared, None]
    ) -> _Test | None:
        """A comparison of integers; those of floating-point numbers have no order with a NaN."""
        first, second = (self._parts.of(one.index, given) for given in (one.first, one.second))
        if first is None or second is None or is_float(self._instructions[one.index]):
            return None
        if first.of_lane() != second.of_lane():
            return None
        accepted = _RELATIONS[one.relation]
        if (second.mask, first.mask) == masks:
            accepted = {-each for each in accepted}
        elif (first.mask, second.mask) != masks:
            return None
        key = (first.of_lane(), f"{'u' if one.is_unsigned else one.kind[:1]}{one.kind[1:]}")
        compared[key] = None
        return lambda relations: (relations[key] in accepted) is one.holds


def _relations(part: Part, compared: Iterable[_Compared]) -> list[dict[_Compared, int]]:
    """How two lanes' values of a part may compare: equal in every order, or in none."""
    keys = [key for key in compared if key[0] == part]
    orders = product((_LESS, _GREATER), repeat=len(keys))
    return [dict.fromkeys(keys, _EQUAL), *(dict(zip(keys, one, strict=True)) for one in orders)]


def _always(*, taken: bool) -> _Test:
    return lambda relations: taken


def _chosen(test: _Test, first: _Test, second: _Test) -> _Test:
    return lambda relations: first(relations) if test(relations) else second(relations)


def _joined(join: str, tests: Sequence[_Test]) -> _Test:
    if join == "odd":
        return lambda relations: sum(test(relations) for test in tests) % 2 == 1
    every = all if join == "all" else any
    return lambda relations: every(test(relations) for test in tests)
