"""Where in the depot an access may lie: its first byte, and the steps that an index takes from it.

``a.b[i]`` of 4-byte elements is ``depot + 24 + 4 * i``: first byte 24, steps of 4. The numbers are
those of the type's layout, whatever the source calls it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import gcd, lcm

from lmemscope.analysis.ptx.objects import FunctionObjects, PtxAccess
from lmemscope.formats.ptx_body import Instruction, Operand, number_of

_DEEPEST = 24


@dataclass(frozen=True, slots=True)
class Place:
    """A linear form of an access's address.

    Attributes:
        start: the first byte of the depot that it names without its index; None where not known.
        step: what divides every distance from there; 0 for a constant place, 1 where not known.
        width: bytes of the access.
    """

    start: int | None
    step: int
    width: int


class Places:
    """Places of the accesses of one function."""

    def __init__(self, objects: FunctionObjects) -> None:
        self._objects = objects
        self._instructions = objects.body.instructions
        self._depots = {declaration.name for declaration in objects.body.locals}
        self._known: dict[int, Place] = {}
        self._bases: dict[str, tuple[int | None, int]] = {}
        self._steps: dict[str, int] = {}
        self._pointers: dict[int, tuple[list[tuple[str, int]], int]] = {}

    def of(self, access: PtxAccess) -> Place:
        """The place of one access."""
        if access.index not in self._known:
            self._known[access.index] = self._place(access)
        return self._known[access.index]

    def among(self, accesses: Iterable[PtxAccess]) -> list[Place]:
        """The places of several accesses, each once."""
        constant: dict[tuple[int, int], None] = {}
        others: dict[Place, None] = {}
        for access in accesses:
            if access.offset is not None:
                constant[access.offset, access.width] = None
            else:
                others[self.of(access)] = None
        return [*(Place(offset, 0, width) for offset, width in constant), *others]

    def _place(self, access: PtxAccess) -> Place:
        if access.offset is not None:
            return Place(access.offset, 0, access.width)
        address = self._instructions[access.index].address
        start: int | None = None
        step = 1
        if address is not None and address.base:
            if address.base not in self._bases:
                self._bases[address.base] = self._pointed(address.base)
            start, step = self._bases[address.base]
            if start is not None:
                start += address.offset
        # An access begins at a multiple of its width.
        return Place(start, lcm(step, access.width), access.width)

    def _pointed(self, base: str) -> tuple[int | None, int]:
        """The first byte that a register points to, and the step from there."""
        starts: set[int] = set()
        step = 0
        seen: dict[str, int] = {}
        work = [(base, 0)]
        while work:
            register, distance = work.pop()
            if register in self._depots:
                starts.add(distance)
                continue
            if register in seen:
                step = gcd(step, distance - seen[register])
                continue
            seen[register] = distance
            for index in self._objects.dataflow.definitions.get(register, ()):
                if index not in self._pointers:
                    self._pointers[index] = self._behind(self._instructions[index])
                more, inner = self._pointers[index]
                work += [(pointer, distance + away) for pointer, away in more]
                step = gcd(step, inner)
        first = min(starts, default=None)
        for start in starts:
            step = gcd(step, start - (first or 0))
        return first, step if first is not None else step or 1

    def _behind(self, instruction: Instruction) -> tuple[list[tuple[str, int]], int]:
        """Pointers that an instruction's result is made of, with distances, and its step."""
        operation, operands = instruction.operation, instruction.operands[1:]
        pointers = [str(o) for o in operands if self._is_pointer(o)]
        if instruction.isa.kind == "copy" or instruction.isa.is_either:
            return [(pointer, 0) for pointer in pointers], 0
        if operation in ("add", "or", "sub") and len(operands) == 2 and len(pointers) == 1:
            other = next((o for o in operands if str(o) != pointers[0]), None)
            number = number_of(other)
            if number is not None:
                return [(pointers[0], -number if operation == "sub" else number)], 0
            return [(pointers[0], 0)], self._step(other)
        if operation == "mad" and len(operands) == 3 and pointers == [str(operands[2])]:
            return [(pointers[0], 0)], self._product(operands[0], operands[1])
        return [(pointer, 0) for pointer in pointers], 1

    def _is_pointer(self, operand: Operand | None) -> bool:
        if not isinstance(operand, str) or number_of(operand) is not None:
            return False
        if operand in self._depots:
            return True
        return self._objects.is_pointer(operand)

    def _step(self, operand: Operand | None, depth: int = 0) -> int:
        """A number that divides an index in bytes; 0 for zero."""
        number = number_of(operand)
        if number is not None:
            return abs(number)
        if not isinstance(operand, str) or depth > _DEEPEST:
            return 1
        if operand in self._steps:
            return self._steps[operand]
        self._steps[operand] = 0  # A loop adds nothing of its own.
        step = 0
        indices = self._objects.dataflow.definitions.get(operand, ())
        for index in indices:
            step = gcd(step, self._step_of(self._instructions[index], depth))
        self._steps[operand] = step if indices else 1
        return self._steps[operand]

    def _step_of(self, instruction: Instruction, depth: int) -> int:
        operation, operands = instruction.operation, instruction.operands[1:]
        if operation == "mul" and len(operands) == 2:
            return self._product(*operands)
        if operation == "mad" and len(operands) == 3:
            return gcd(self._product(operands[0], operands[1]), self._step(operands[2], depth + 1))
        if operation == "shl" and len(operands) == 2:
            number = number_of(operands[1])
            return 1 if number is None else self._step(operands[0], depth + 1) << number or 1
        if operation == "and" and len(operands) == 2:
            number = number_of(operands[1])
            inner = self._step(operands[0], depth + 1)
            return inner if number is None else max(inner, number & -number)
        row = instruction.isa
        is_sum = row.kind in ("sum", "extreme") and not row.carries
        if row.kind == "copy" or is_sum or row.kind == "choice" or operation in ("or", "xor"):
            if row.kind == "choice":
                operands = operands[:2]
            step = 0
            for operand in operands:
                step = gcd(step, self._step(operand, depth + 1))
            return step
        return 1

    def _product(self, left: Operand, right: Operand) -> int:
        number = number_of(right) if number_of(right) is not None else number_of(left)
        if number is None:
            return 1
        return abs(number)
