"""What values are where a kernel's parameters have known numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from lmemscope.analysis.ptx.definitions import Definitions
from lmemscope.analysis.ptx.values import Value, Values
from lmemscope.formats.ptx_body import Operand, number_of
from lmemscope.formats.ptx_isa import COMPARISONS
from lmemscope.formats.ptx_operands import folded

_DEEP = 64
"""Instructions from a parameter to what is computed with it."""


@dataclass(frozen=True)
class KnownNumbers:
    """Values that constants and parameters make.

    Attributes:
        code: of the function.
        values: of the function.
        parameters_are: numbers of parameters, by their PTX names; of what lies in a structure, by
            that and its place (``k_param_2+8``).
    """

    code: Definitions
    values: Values
    parameters_are: Mapping[str, int]

    def of(self, value: Value, depth: int = 0) -> int | None:
        """What constants and parameters make; None of anything else.

        Which of two a predicate chooses (``selp``) is told where what it compares is known.
        """
        if value < 0 or depth > _DEEP:
            return None
        instruction = self.code.body.instructions[value]
        name = self._parameter(value)
        if name is not None:
            return self.parameters_are.get(name)
        if instruction.predicate is not None:
            return None
        operands = instruction.operands[1:]
        if instruction.operation == "selp" and len(operands) == 3:
            chosen = self._holds(value, operands[2], depth)
            return None if chosen is None else self._operand(value, operands[not chosen], depth)
        if instruction.isa.fold is None:
            return None
        return folded(instruction, [self._operand(value, one, depth) for one in operands])

    def _operand(self, value: Value, operand: Operand, depth: int) -> int | None:
        number = number_of(operand)
        if number is not None or not isinstance(operand, str):
            return number
        read = self.values.read(value, operand)
        return None if read is None else self.of(read, depth + 1)

    def _holds(self, value: Value, predicate: Operand, depth: int) -> bool | None:
        """Whether a predicate is true where an instruction reads it; None: not known."""
        read = self.values.read(value, predicate) if isinstance(predicate, str) else None
        if read is None or read < 0:
            return None
        test = self.code.body.instructions[read]
        compared = COMPARISONS.get(test.modifiers[1]) if len(test.modifiers) > 2 else None
        if test.operation != "setp" or compared is None or len(test.operands) != 3:
            return None
        first, second = (self._operand(read, one, depth + 1) for one in test.operands[1:])
        return None if first is None or second is None else compared(first, second)

    def parameters(self, value: Value | None) -> set[str]:
        """Parameters that a value is computed from; none where anything else is in it."""
        found: set[str] = set()
        work, seen = [value], set()
        while work:
            value = work.pop()
            if value is None or value < 0 or len(found) > 1:
                return set()
            if value in seen:
                continue
            seen.add(value)
            instruction = self.code.body.instructions[value]
            name = self._parameter(value)
            if name is not None:
                found.add(name)
            elif instruction.isa.fold is not None and instruction.predicate is None:
                operands = (one for one in instruction.operands[1:] if number_of(one) is None)
                work += [self.values.read(value, str(operand)) for operand in operands]
            else:
                return set()
        return found

    def _parameter(self, value: Value) -> str | None:
        """The kernel's parameter that an instruction loads, or what of it."""
        instruction = self.code.body.instructions[value]
        is_load = instruction.operation == "ld" and "param" in instruction.modifiers
        address = instruction.address if is_load else None
        if address is None or address.base is None:
            return None
        name: Operand | None = address.base
        for _ in range(_DEEP):
            if not isinstance(name, str) or name[:1] != "%":
                break
            # Of large parameters the address is in a register.
            made = self.values.read(value, name)
            if made is None or made < 0:
                return None
            setting = self.code.body.instructions[made]
            if setting.isa.kind != "copy" or len(setting.operands) != 2:
                return None
            value, name = made, setting.operands[1]
        if not isinstance(name, str) or name[:1] == "%":
            return None
        return f"{name}+{address.offset}" if address.offset else name
