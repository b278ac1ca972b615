"""Butterflies: values that lanes combine pairwise until all of them hold one.

``v = v + shfl.bfly(v, 16)`` gives lanes ``l`` and ``l ^ 16`` one value, since both add the same two
numbers and the order of two summands does not matter. Here each lane's value is an expression of
what the lanes began with, in a form that does not depend on that order; all lanes hold one value
where all 32 expressions are one. That an operation is associative is not needed.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import product

from lmemscope.analysis.ptx.affine import LANES
from lmemscope.analysis.ptx.analyses import Analyses
from lmemscope.analysis.ptx.components import strong_components
from lmemscope.analysis.ptx.conditions import Comparison, Compound, Condition
from lmemscope.analysis.ptx.values import Value
from lmemscope.formats.ptx_body import Instruction, Vector, number_of
from lmemscope.formats.ptx_isa import COMPARISONS
from lmemscope.formats.ptx_operands import is_float

_COMPARED = 3
"""How many pairs of values a choice may compare: keys, and what breaks ties."""
_LESS, _EQUAL, _GREATER = -1, 0, 1
_CONVERSIONS = frozenset({"cvt.u64.u32", "cvt.u32.u64", "cvt.u32.u16", "cvt.u16.u32"})
_HALF = 32

_Lanes = tuple[int, ...]
"""Numbers of each lane's expression."""
_Key = tuple[int, int, str]
"""Numbers of two expressions, ascending, and the type that they are compared as."""
_Relations = Mapping[_Key, int]
"""How the first of two expressions compares with the second."""
_Outcome = tuple[tuple[tuple[_Key, int], ...], int]
"""Relations, and the number of what is chosen where they are so."""


class Butterflies:
    """Butterflies of one function.

    Args:
        analyses: of the function.
    """

    def __init__(self, analyses: Analyses) -> None:
        self._instructions, self._values = analyses.code.body.instructions, analyses.values
        self._affine, self._conditions = analyses.affine, analyses.conditions
        self._numbers: dict[Hashable, int] = {}
        self._expressions: list[tuple[str, tuple[int, ...]]] = []
        self._choices: dict[int, Sequence[_Outcome]] = {}
        self._known: dict[Value, list[_Lanes]] = {}

    def is_complete(self, index: int) -> bool:
        """Whether an instruction gives all lanes of a warp one value, by what butterflies do."""
        if not self._has_any or not self._is_followed(index):
            return False
        return all(len(set(lanes)) == 1 for lanes in self._results(index))

    @cached_property
    def _has_any(self) -> bool:
        return any(
            instruction.operation == "shfl" and "bfly" in instruction.modifiers
            for instruction in self._instructions
        )

    def _results(self, value: Value) -> list[_Lanes]:
        """The expressions of each result of a value."""
        if value not in self._known:
            for group in strong_components([value], self._sources, self._known):
                for one in group:
                    is_open = len(group) == 1 and self._is_followed(one)
                    made = self._made(one) if is_open else None
                    self._known[one] = made or self._opaque(one)
        return self._known[value]

    def _is_followed(self, value: Value) -> bool:
        """Whether a value is an expression of others."""
        one = self._instructions[value] if value >= 0 else None
        if one is None or one.predicate is not None or len(one.operands) < 2:
            return False
        if one.operation in ("mov", "selp") or one.opcode in _CONVERSIONS:
            return True
        if one.operation == "shfl":
            return self._mask(value) is not None
        return one.isa.commutes or one.opcode in ("shr.u64", "shl.b64", "bfi.b64")

    def _sources(self, value: Value) -> Sequence[Value]:
        if not self._is_followed(value):
            return ()
        one = self._instructions[value]
        if one.operation == "shfl":
            return self._values.reads(value, _registers(one.operands[1:2]))
        if one.operation != "selp":
            return self._values.reads(value, _registers(one.operands[1:]))
        found = list(self._values.reads(value, _registers(one.operands[1:3])))
        for compared in _comparisons(self._conditions.read(value, one.operands[3])) or ():
            operands = (compared.first, compared.second)
            found += self._values.reads(compared.index, _registers(operands))
        return found

    def _opaque(self, value: Value) -> list[_Lanes]:
        """What nothing is known of: each lane's own."""
        target = self._instructions[value].operands[:1] if value >= 0 else ()
        results = len(target[0].items) if target and isinstance(target[0], Vector) else 1
        return [self._own(value, position) for position in range(results)]

    def _own(self, *key: Hashable) -> _Lanes:
        return tuple(self._number("own", (), (*key, lane)) for lane in range(LANES))

    def _number(self, name: str, operands: tuple[int, ...], key: Hashable = None) -> int:
        number = self._numbers.setdefault((name, operands, key), len(self._numbers))
        if number == len(self._expressions):
            self._expressions.append((name, operands))
        return number

    def _read(self, index: int, operand: object) -> _Lanes:
        """Each lane's expression of an operand."""
        if isinstance(operand, Vector):
            return self._each("whole", *(self._read(index, one) for one in operand.items))
        register = next(iter(_registers([operand])), None)
        value = self._values.read(index, register) if register is not None else None
        if register is None or value is None:
            number = number_of(operand)
            is_number = number is not None
            return (self._number("", (), number),) * LANES if is_number else self._own(operand)
        target = self._instructions[value].operands[0] if value >= 0 else None
        names = target.items if isinstance(target, Vector) else ()
        return self._results(value)[names.index(register) if register in names else 0]

    def _made(self, index: int) -> list[_Lanes] | None:
        """The expressions of an instruction's results; None where it cannot be followed."""
        one = self._instructions[index]
        if one.operation == "selp":
            found = self._choice(index, one)
            return [found] if found is not None else None
        read = [self._read(index, operand) for operand in one.operands[1:]]
        if one.operation == "shfl":
            mask = self._mask(index) or 0
            moved = tuple(read[0][lane ^ mask] for lane in range(LANES))
            target = one.operands[0]
            others = len(target.items) - 1 if isinstance(target, Vector) else 0
            return [moved, *(self._own(index, place + 1) for place in range(others))]
        if one.operation == "mov" and isinstance(one.operands[0], Vector):
            count = len(one.operands[0].items)
            return [self._each(f"{place}/{count}", *read) for place in range(count)]
        if one.operation == "mov":
            return [read[0]]
        numbers = [number_of(operand) for operand in one.operands[2:]]
        if one.opcode == "bfi.b64" and numbers[1:] == [_HALF, _HALF]:
            low, high = (self._each("0/2", half) for half in (read[1], read[0]))
            return [self._each("whole", low, high)]
        if one.opcode in ("shr.u64", "shl.b64"):
            return [self._each(one.opcode, read[0])] if numbers == [_HALF] else None
        if one.opcode in _CONVERSIONS:
            return [self._each(one.opcode, read[0])]
        return [self._each(one.opcode, *read)] if one.isa.commutes and len(read) == 2 else None

    def _each(self, operation: str, *operands: _Lanes) -> _Lanes:
        """The expressions that an operation makes of each lane's operands."""
        made = {one: self._simple(operation, one) for one in set(zip(*operands, strict=True))}
        return tuple(made[one] for one in zip(*operands, strict=True))

    def _simple(self, operation: str, operands: tuple[int, ...]) -> int:
        """The number of an expression in its simplest form.

        Values of 64 and of 16 bits are shuffled as 32: in halves, or widened. Compilers write
        halves as shifts and conversions, too.
        """
        inner = [self._expressions[one] for one in operands]
        first, given = inner[0]
        if operation == "cvt.u16.u32" and first == "cvt.u32.u16":
            return given[0]
        if operation == "cvt.u32.u64":
            high = first == "shr.u64"
            return self._simple("1/2", given) if high else self._simple("0/2", operands)
        place, slash, count = operation.partition("/")
        if slash and first == "whole" and len(given) == int(count):
            return given[int(place)]
        if operation == "0/2" and first == "cvt.u64.u32":
            return given[0]
        if operation == "whole":
            pieces = [(f"{number}/{len(inner)}", given) for number in range(len(inner))]
            if pieces == inner:
                return given[0]
        if operation == "or.b64":
            for low, high_half in (inner, inner[::-1]):
                shifted = self._expressions[high_half[1][0]] if high_half[0] == "shl.b64" else None
                if shifted is not None and low[0] == shifted[0] == "cvt.u64.u32":
                    return self._simple("whole", (*low[1], *shifted[1]))
        commutes = not slash and operation not in ("whole", *_CONVERSIONS)
        return self._number(operation, tuple(sorted(operands)) if commutes else operands)

    def _choice(self, index: int, one: Instruction) -> _Lanes | None:
        """What each lane chooses, by how the values compare that it chooses by."""
        condition = self._conditions.read(index, one.operands[3])
        compared = _comparisons(condition)
        if compared is None or any(is_float(self._instructions[c.index]) for c in compared):
            return None  # Floating-point numbers have no order with a NaN.
        pairs = [[self._read(c.index, each) for each in (c.first, c.second)] for c in compared]
        given = [self._read(index, operand) for operand in one.operands[1:3]]
        found: list[int] = []
        for lane in range(LANES):
            sides = {c: (p[0][lane], p[1][lane]) for c, p in zip(compared, pairs, strict=True)}
            chosen = self._chosen(condition, sides, given[0][lane], given[1][lane])
            if chosen is None:
                return None
            found.append(chosen)
        return tuple(found)

    def _chosen(
        self, condition: Condition, sides: Mapping[Comparison, tuple[int, int]], *given: int
    ) -> int | None:
        """One lane's choice between two expressions, nested ones included.

        Args:
            condition: which takes the first one.
            sides: numbers of what its comparisons compare.
            given: the two.
        """
        told = [
            self._outcomes(number, {other, *dict(self._outcomes(other)).values()})
            for number, other in (given, given[::-1])
        ]
        keys = {_key(one, pair) for one, pair in sides.items()}
        keys.update(key for outcomes in told for key, _ in outcomes[0][0])
        if len(keys) > _COMPARED:
            return None
        found: list[_Outcome] = []
        for relations in _orders(sorted(keys)):
            outcomes = told[0] if _holds(condition, sides, relations) else told[1]
            number = next(one for needed, one in outcomes if set(needed) <= relations.items())
            equal = (key for key, relation in relations.items() if relation == _EQUAL)
            number = min((key[0] for key in equal if number == key[1]), default=number)
            found.append((tuple(relations.items()), number))
        different = {number for _, number in found}
        if len(different) == 1:
            return different.pop()
        number = self._number("choice", (), tuple(found))
        self._choices[number] = found
        return number

    def _outcomes(self, number: int, among: Collection[int] | None = None) -> Sequence[_Outcome]:
        """What an expression is by how values compare; itself unless it chooses among some."""
        outcomes = self._choices.get(number, ())
        if among is not None and not any(one in among for _, one in outcomes):
            outcomes = ()
        return outcomes or [((), number)]

    def _mask(self, index: int) -> int | None:
        """The mask of a butterfly shuffle whose segments hold both lanes of every pair."""
        one = self._instructions[index]
        if "bfly" not in one.modifiers:
            return None
        forms = [self._affine.read(index, operand) for operand in one.operands[2:4]]
        mask, bounds = (form.number if form is not None else None for form in forms)
        if mask is None or bounds is None or not 0 <= mask < LANES:
            return None
        # The last lane of a segment in the low bits, above them which bits tell segments apart.
        whole = bounds & (LANES - 1) == LANES - 1 and not (bounds >> 8) & mask
        return mask if whole else None


def _registers(operands: Sequence[object]) -> list[str]:
    given = [
        one for each in operands for one in (each.items if isinstance(each, Vector) else [each])
    ]
    return [one for one in given if isinstance(one, str) and one[:1] == "%"]


def _comparisons(condition: Condition) -> list[Comparison] | None:
    """All that a condition compares; None where it asks anything else."""
    if isinstance(condition, Comparison):
        return [condition]
    if not isinstance(condition, Compound):
        return None
    found = [_comparisons(part) for part in condition.parts]
    return None if None in found else [one for each in found for one in each or ()]


def _key(one: Comparison, sides: tuple[int, int]) -> _Key:
    return min(sides), max(sides), f"{'u' if one.is_unsigned else one.kind[:1]}{one.kind[1:]}"


def _orders(keys: Sequence[_Key]) -> Iterator[dict[_Key, int]]:
    """How pairs may compare: those of one pair are equal as every type, or as none."""
    for relations in product((_LESS, _EQUAL, _GREATER), repeat=len(keys)):
        found = dict(zip(keys, relations, strict=True))
        equal = {key[:2]: relation == _EQUAL for key, relation in found.items()}
        same = all(equal[key[:2]] == (relation == _EQUAL) for key, relation in found.items())
        if same and all(found[key] == _EQUAL for key in keys if key[0] == key[1]):
            yield found


def _holds(
    condition: Condition, sides: Mapping[Comparison, tuple[int, int]], relations: _Relations
) -> bool:
    if isinstance(condition, Compound):
        held = [_holds(part, sides, relations) for part in condition.parts]
        return {"all": all(held), "any": any(held), "odd": sum(held) % 2 == 1}[condition.join]
    assert isinstance(condition, Comparison)
    first, second = sides[condition]
    relation = relations[_key(condition, (first, second))]
    relation = relation if first <= second else -relation
    return COMPARISONS[condition.relation](relation, _EQUAL) is condition.holds
