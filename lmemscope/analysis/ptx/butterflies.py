"""Butterflies: values that lanes combine pairwise until all of them hold one.

``v = v + shfl.bfly(v, 16)`` gives lanes ``l`` and ``l ^ 16`` one value, since both add the same two
numbers and the order of two summands does not matter. What was the same in lanes ``l`` and
``l ^ m`` before stays so. When the masks of the stages span the five bits of a lane's number, all
lanes hold one value. That the operation is associative is not needed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import product

from lmemscope.analysis.ptx.definitions import Definitions
from lmemscope.analysis.ptx.flow import is_float
from lmemscope.analysis.ptx.values import Value, Values
from lmemscope.formats.ptx_body import Instruction, Vector, number_of

_COMMUTING = frozenset({"add", "mul", "min", "max", "and", "or", "xor"})
_LANES = 32
_STAGES = 16
"""How many stages are followed; five are enough where none is in vain."""
_COMPARED = 3
"""How many values the lanes of a pair may compare: keys, and what breaks ties."""
_TREE = 12
"""How deep the predicate of a choice may be."""
_LESS, _EQUAL, _GREATER = -1, 0, 1
_RELATIONS = {
    "lt": {_LESS},
    "lo": {_LESS},
    "le": {_LESS, _EQUAL},
    "ls": {_LESS, _EQUAL},
    "eq": {_EQUAL},
    "ne": {_LESS, _GREATER},
    "ge": {_EQUAL, _GREATER},
    "hs": {_EQUAL, _GREATER},
    "gt": {_GREATER},
    "hi": {_GREATER},
}
_CONNECTIVES: dict[str, Callable[[bool, bool], bool]] = {
    "and": lambda a, b: a and b,
    "or": lambda a, b: a or b,
    "xor": lambda a, b: a != b,
}
_FOLDED: dict[str, Callable[[int, int], int]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "or": lambda a, b: a | b,
    "shl": lambda a, b: a << min(b, 64),
}


@dataclass(frozen=True, slots=True)
class _Part:
    """What an operand holds, seen through moves and shuffles.

    Attributes:
        value, position: an instruction, and which of its results.
        path: what is taken of it: pieces, widenings.
        mask: that of lane ``l ^ mask``; 0 for the lane's own.
    """

    value: Value
    position: int
    path: tuple[str, ...] = ()
    mask: int = 0

    def of_lane(self) -> _Part:
        """The same of the lane itself."""
        return _Part(self.value, self.position, self.path)


_Compared = tuple[_Part, str]
"""Two lanes' values that are compared, and the type that they are compared as."""


class Butterflies:
    """Butterflies of one function.

    Args:
        code: the function.
        values: its values.
    """

    def __init__(self, code: Definitions, values: Values) -> None:
        self._instructions, self._values = code.body.instructions, values

    def is_complete(self, index: int) -> bool:
        """Whether an instruction is the last stage of a butterfly over a whole warp."""
        if not self._has_any or self._stage(index) is None:
            return False
        return len(self._same(index, _STAGES)) == _LANES

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

    def _stage(self, index: int) -> tuple[int, list[_Part]] | None:
        """The mask of a stage, and the values that it combines; None for any other instruction."""
        instruction = self._instructions[index]
        operation = instruction.operation
        if instruction.predicate is not None or len(instruction.operands) < 3:
            return None
        if operation != "selp" and operation not in _COMMUTING:
            return None
        first = self._part(index, instruction.operands[1])
        second = self._part(index, instruction.operands[2])
        if first is None or second is None or first.of_lane() != second.of_lane():
            return None
        mask = first.mask ^ second.mask
        if not mask:
            return None
        if operation in _COMMUTING:
            return (mask, [first.of_lane()]) if len(instruction.operands) == 3 else None
        return self._choice(index, first, second)

    def _choice(self, index: int, first: _Part, second: _Part) -> tuple[int, list[_Part]] | None:
        """A stage that takes one lane's value: both lanes take the same, whatever they compare."""
        mask = first.mask ^ second.mask
        compared: dict[_Compared, None] = {}
        predicate = self._instructions[index].operands[3]
        test = self._test(index, predicate, (first.mask, second.mask), compared, _TREE)
        chosen = first.of_lane()
        known = list(compared)
        if test is None or len(known) > _COMPARED:
            return None
        for relations in product((_LESS, _EQUAL, _GREATER), repeat=len(known)):
            here = dict(zip(known, relations, strict=True))
            there = {one: -relation for one, relation in here.items()}
            alike = any(part == chosen and not here[part, kind] for part, kind in known)
            if test(here) == test(there) and not alike:
                return None
        return mask, list(dict.fromkeys([chosen, *(part for part, _ in known)]))

    def _test(
        self,
        index: int,
        operand: object,
        masks: tuple[int, int],
        compared: dict[_Compared, None],
        depth: int,
    ) -> Callable[[Mapping[_Compared, int]], bool] | None:
        """A predicate as a function of how the values of two lanes compare; None for any other.

        Args:
            index: the instruction that reads it.
            operand: the predicate.
            masks: of the two lanes: relations are those of the first to the second.
            compared: gets what it compares.
            depth: how many more instructions are followed.
        """
        if not isinstance(operand, str) or not depth:
            return None
        negated = operand.startswith("!")
        value = self._values.read(index, operand.lstrip("!"))
        if value is None or value < 0:
            return None
        instruction = self._instructions[value]
        if instruction.predicate is not None or isinstance(instruction.operands[0], Vector):
            return None
        operands = instruction.operands[1:]
        if instruction.operation == "setp" and len(operands) == 2:
            found = self._comparison(value, instruction, masks, compared)
            return found if found is None or not negated else _not(found)
        if instruction.operation not in ("not", "mov", *_CONNECTIVES):
            return None
        tests = [self._test(value, one, masks, compared, depth - 1) for one in operands]
        given = [test for test in tests if test is not None]
        if len(given) != len(tests):
            return None
        if len(given) == 1:
            inverted = negated != (instruction.operation == "not")
            return _not(given[0]) if inverted else given[0]
        joined = _joined(_CONNECTIVES[instruction.operation], *given)
        return _not(joined) if negated else joined

    def _comparison(
        self,
        index: int,
        instruction: Instruction,
        masks: tuple[int, int],
        compared: dict[_Compared, None],
    ) -> Callable[[Mapping[_Compared, int]], bool] | None:
        """A comparison of integers; those of floating-point numbers have no order with a NaN."""
        parts = [self._part(index, operand) for operand in instruction.operands[1:]]
        first, second = parts
        relation = _RELATIONS.get(instruction.modifiers[1])
        if first is None or second is None or relation is None or is_float(instruction):
            return None
        if first.of_lane() != second.of_lane():
            return None
        if (first.mask, second.mask) == masks:
            accepted = relation
        elif (second.mask, first.mask) == masks:
            accepted = {-one for one in relation}
        else:
            return None
        key = (first.of_lane(), _order(instruction))
        compared[key] = None
        return lambda relations: relations[key] in accepted

    def _part(self, index: int, operand: object) -> _Part | None:
        """What an operand holds; None for a constant and what nothing writes."""
        taken: list[str] = []
        mask = 0
        if not isinstance(operand, str) or not operand.startswith("%"):
            return None
        value = self._values.read(index, operand)
        position = 0
        while value is not None:
            if value < 0:
                return _Part(value, 0, tuple(reversed(taken)), mask)
            instruction = self._instructions[value]
            position = _position(instruction, operand)
            pieces = self._pieces(value, instruction)
            source: tuple[int, str] | None = None
            if instruction.predicate is not None:
                pass
            elif pieces is not None:
                piece = _piece(taken[-1], len(pieces)) if taken else None
                if piece is None:
                    whole = self._whole(pieces)
                    if whole is not None:
                        path = (*whole.path, *reversed(taken))
                        return _Part(whole.value, whole.position, path, whole.mask ^ mask)
                else:
                    taken.pop()
                    source = pieces[piece]
            elif (stage := self._shuffled(value, instruction)) is not None and not position:
                mask ^= stage
                source = value, str(instruction.operands[1])
            else:
                source = self._passed_on(value, instruction, position, taken)
            if source is None:
                break
            before = self._values.read(*source)
            if before is None:
                break
            value, operand = before, source[1]
        return None if value is None else _Part(value, position, tuple(reversed(taken)), mask)

    def _passed_on(
        self, index: int, instruction: Instruction, position: int, taken: list[str]
    ) -> tuple[int, str] | None:
        """What an instruction only hands on, or takes a piece of, which ``taken`` gets."""
        operands = instruction.operands
        source = operands[1] if len(operands) > 1 else None
        if not isinstance(source, str) or not source.startswith("%"):
            return None
        if instruction.operation == "mov":
            if isinstance(operands[0], Vector):
                taken.append(f"{position}/{len(operands[0].items)}")
            return index, source
        if instruction.opcode == "cvt.u32.u64":
            # Compilers write halves as shifts.
            shifted = self._high_half(index, source)
            taken.append("0/2" if shifted is None else "1/2")
            return shifted or (index, source)
        if instruction.opcode == "cvt.u16.u32":
            taken.append("narrowed")
            return index, source
        if instruction.opcode == "cvt.u32.u16" and taken[-1:] == ["narrowed"]:
            taken.pop()
            return index, source
        return None

    def _high_half(self, index: int, register: str) -> tuple[int, str] | None:
        value = self._values.read(index, register)
        if value is None or value < 0:
            return None
        instruction = self._instructions[value]
        source = instruction.operands[1] if len(instruction.operands) == 3 else None
        if instruction.opcode != "shr.u64" or number_of(instruction.operands[2]) != 32:
            return None
        return (value, source) if isinstance(source, str) else None

    def _pieces(self, index: int, instruction: Instruction) -> list[tuple[int, str]] | None:
        """Pieces, the lowest first, that an instruction puts together; None for any other."""
        operands = instruction.operands[1:]
        if instruction.operation == "mov" and isinstance(operands[0], Vector):
            return [(index, item) for item in operands[0].items]
        numbers = [number_of(operand) for operand in operands[2:]]
        if instruction.opcode == "bfi.b64" and numbers == [32, 32]:
            halves = [self._widened(index, operand) for operand in (operands[1], operands[0])]
        elif instruction.opcode == "or.b64":
            halves = [self._widened(index, operands[1]), self._widened(index, operands[0], 32)]
            if None in halves:
                halves = [self._widened(index, operands[0]), self._widened(index, operands[1], 32)]
        else:
            return None
        found = [half for half in halves if half is not None]
        return found if len(found) == len(halves) else None

    def _widened(self, index: int, operand: object, by: int = 0) -> tuple[int, str] | None:
        """The 32 bits that a register of 64 holds, shifted left by so many."""
        value = self._values.read(index, operand) if isinstance(operand, str) else None
        if value is None or value < 0:
            return None
        instruction = self._instructions[value]
        source = instruction.operands[1] if len(instruction.operands) > 1 else None
        if by:
            shifts = instruction.opcode == "shl.b64" and number_of(instruction.operands[2]) == by
            return self._widened(value, source) if shifts else None
        widens = instruction.opcode == "cvt.u64.u32" and isinstance(source, str)
        return (value, str(source)) if widens else None

    def _whole(self, pieces: list[tuple[int, str]]) -> _Part | None:
        """The value that pieces are put together to again."""
        parts = [self._part(*piece) for piece in pieces]
        first = parts[0]
        if first is None or not first.path:
            return None
        for number, part in enumerate(parts):
            path = (*first.path[:-1], f"{number}/{len(parts)}")
            if part != _Part(first.value, first.position, path, first.mask):
                return None
        return _Part(first.value, first.position, first.path[:-1], first.mask)

    def _shuffled(self, index: int, instruction: Instruction) -> int | None:
        """The mask of a butterfly shuffle whose segments hold both lanes of every pair."""
        if instruction.operation != "shfl" or "bfly" not in instruction.modifiers:
            return None
        mask, bounds = (self._constant(index, operand) for operand in instruction.operands[2:4])
        if mask is None or bounds is None or not 0 <= mask < _LANES:
            return None
        # The last lane of a segment in the low bits, above them which bits tell segments apart.
        whole = bounds & (_LANES - 1) == _LANES - 1 and not (bounds >> 8) & mask
        return mask if whole else None

    def _constant(self, index: int, operand: object, depth: int = _TREE) -> int | None:
        """A number, or what one is made of: headers compute bounds of ``WARP_SZ``."""
        if operand == "WARP_SZ":
            return _LANES
        if not isinstance(operand, str) or not operand.startswith("%"):
            return number_of(operand)
        value = self._values.read(index, operand)
        if value is None or value < 0 or not depth:
            return None
        instruction = self._instructions[value]
        given = [self._constant(value, one, depth - 1) for one in instruction.operands[1:]]
        numbers = [one for one in given if one is not None]
        if instruction.predicate is not None or len(numbers) != len(given):
            return None
        if instruction.operation == "mov":
            return numbers[0]
        fold = _FOLDED.get(instruction.operation)
        return fold(*numbers) if fold is not None and len(numbers) == 2 else None


def _position(instruction: Instruction, register: str) -> int:
    """Which result of an instruction a register is."""
    target = instruction.operands[0]
    return target.items.index(register) if isinstance(target, Vector) else 0


def _piece(taken: str, pieces: int) -> int | None:
    """Which of so many pieces is taken."""
    number, _, count = taken.partition("/")
    return int(number) if count == str(pieces) else None


def _order(instruction: Instruction) -> str:
    """Which order a comparison of integers tests: signed or not, and of how many bits."""
    kind = instruction.modifiers[-1]
    if instruction.modifiers[1] in ("lo", "ls", "hi", "hs"):
        return kind.replace("s", "u").replace("b", "u")
    return kind


def _not(
    test: Callable[[Mapping[_Compared, int]], bool],
) -> Callable[[Mapping[_Compared, int]], bool]:
    return lambda relations: not test(relations)


def _joined(
    connective: Callable[[bool, bool], bool],
    first: Callable[[Mapping[_Compared, int]], bool],
    second: Callable[[Mapping[_Compared, int]], bool],
) -> Callable[[Mapping[_Compared, int]], bool]:
    return lambda relations: connective(first(relations), second(relations))
