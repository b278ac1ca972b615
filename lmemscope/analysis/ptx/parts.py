"""What operands hold, seen through moves and butterfly shuffles: whose lane's value it is.

Values of 64 and of 16 bits are shuffled as 32: in halves, or widened.
"""

from __future__ import annotations

from dataclasses import dataclass

from lmemscope.analysis.ptx.affine import LANES, Affine
from lmemscope.analysis.ptx.definitions import Definitions
from lmemscope.analysis.ptx.values import Value, Values
from lmemscope.formats.ptx_body import Instruction, Vector, number_of


@dataclass(frozen=True, slots=True)
class Part:
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

    def of_lane(self) -> Part:
        """The same of the lane itself."""
        return Part(self.value, self.position, self.path)


class Parts:
    """What the operands of one function hold.

    Args:
        code: the function.
        values, affine: its own.
    """

    def __init__(self, code: Definitions, values: Values, affine: Affine) -> None:
        self._instructions, self._values = code.body.instructions, values
        self._affine = affine

    def of(self, index: int, operand: object) -> Part | None:
        """What an operand holds; None for a constant and what nothing writes."""
        taken: list[str] = []
        mask = 0
        if not isinstance(operand, str) or not operand.startswith("%"):
            return None
        value = self._values.read(index, operand)
        position = 0
        while value is not None:
            if value < 0:
                return Part(value, 0, tuple(reversed(taken)), mask)
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
                        return Part(whole.value, whole.position, path, whole.mask ^ mask)
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
        return None if value is None else Part(value, position, tuple(reversed(taken)), mask)

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

    def _whole(self, pieces: list[tuple[int, str]]) -> Part | None:
        """The value that pieces are put together to again."""
        parts = [self.of(*piece) for piece in pieces]
        first = parts[0]
        if first is None or not first.path:
            return None
        for number, part in enumerate(parts):
            path = (*first.path[:-1], f"{number}/{len(parts)}")
            if part != Part(first.value, first.position, path, first.mask):
                return None
        return Part(first.value, first.position, first.path[:-1], first.mask)

    def _shuffled(self, index: int, instruction: Instruction) -> int | None:
        """The mask of a butterfly shuffle whose segments hold both lanes of every pair."""
        if instruction.operation != "shfl" or "bfly" not in instruction.modifiers:
            return None
        mask, bounds = (self._number(index, operand) for operand in instruction.operands[2:4])
        if mask is None or bounds is None or not 0 <= mask < LANES:
            return None
        # The last lane of a segment in the low bits, above them which bits tell segments apart.
        whole = bounds & (LANES - 1) == LANES - 1 and not (bounds >> 8) & mask
        return mask if whole else None

    def _number(self, index: int, operand: object) -> int | None:
        form = self._affine.read(index, operand)
        return form.number if form is not None else None


def _position(instruction: Instruction, register: str) -> int:
    """Which result of an instruction a register is."""
    target = instruction.operands[0]
    return target.items.index(register) if isinstance(target, Vector) else 0


def _piece(taken: str, pieces: int) -> int | None:
    """Which of so many pieces is taken."""
    number, _, count = taken.partition("/")
    return int(number) if count == str(pieces) else None
