"""Where a value of PTX comes from: constants, symbols, results of calls, what a caller passed.

Copies and choices are followed, arithmetic is not: what is computed is a source of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Literal

from lmemscope.analysis.ptx.callgraph import ModuleFlow
from lmemscope.analysis.ptx.components import reached
from lmemscope.analysis.ptx.definitions import Definitions
from lmemscope.analysis.ptx.transfers import access_width, position_in, stored_values
from lmemscope.formats.ptx_body import Instruction, Vector, number_of


@dataclass(frozen=True, slots=True)
class ValueSource:
    """One place that a value comes from.

    Attributes:
        kind: ``constant``, ``symbol``, ``result`` of a call, ``parameter`` of the function, or
            ``computed``.
        function: whose instruction it is.
        name: of the symbol or parameter.
        number: the constant, or bytes into the parameter.
        index: of the call, or of the instruction that computes it.
    """

    kind: Literal["constant", "symbol", "result", "parameter", "computed"]
    function: str
    name: str | None = None
    number: int = 0
    index: int = -1


def loaded(code: Definitions, index: int, register: str) -> ValueSource | None:
    """The parameter, or the result of a call, that an instruction loads; None of all others.

    Args:
        code: the function.
        index: of the instruction.
        register: that it loads into.
    """
    instruction = code.body.instructions[index]
    address = instruction.address
    if instruction.modifiers[:2] != ("ld", "param") or address is None:
        return None
    function = code.function.name
    place = address.offset + position_in(instruction, register)
    if address.base in code.parameters:
        return ValueSource("parameter", function, address.base, place)
    call = code.flow.result_of(index)
    if call is None:
        return None
    return ValueSource("result", function, call.callee, place, call.index)


class Sources:
    """Sources of values in the functions that a kernel reaches.

    Args:
        module: that they belong to.
        kernel: whose calls count; a parameter of a function has what these pass.
    """

    def __init__(self, module: ModuleFlow, kernel: str) -> None:
        self._module, self._kernel = module, kernel

    def of(self, function: str, value: str) -> frozenset[ValueSource]:
        """All sources of a register or constant of a function; parameters are not followed."""
        code = self._module.dataflow(function)
        if code is None:
            return frozenset()
        found: set[ValueSource] = set()
        for current in reached([value], partial(_copied, code)):
            number = number_of(current)
            if number is not None:
                found.add(ValueSource("constant", function, number=number))
            elif not current.startswith("%"):
                found.add(ValueSource("symbol", function, current))
            for index in code.definitions.get(current, ()):
                found |= set(self._leaf(function, code, index, current))
        return frozenset(found)

    def resolved(self, function: str, value: str) -> frozenset[ValueSource]:
        """As `of`, with what callers pass in place of the function's parameters."""
        found: set[ValueSource] = set()
        seen: set[tuple[str, str]] = set()
        work = [(function, value)]
        while work:
            step = work.pop()
            if step in seen:
                continue
            seen.add(step)
            for source in self.of(*step):
                given = list(self.given(source)) if source.kind == "parameter" else []
                work += [(caller, passed) for caller, _, passed in given]
                if not given:
                    found.add(source)
        return frozenset(found)

    def constant(self, function: str, value: str | None) -> int | None:
        """The one constant that a value is; None where it may be anything else."""
        if value is None:
            return None
        found = self.resolved(function, value)
        numbers = {source.number for source in found if source.kind == "constant"}
        alike = len(numbers) == 1 and all(source.kind == "constant" for source in found)
        return numbers.pop() if alike else None

    def given(
        self, source: ValueSource, at: tuple[str, int] | None = None
    ) -> Iterator[tuple[str, int, str]]:
        """What the kernel's calls pass for a parameter: the caller, the call's index in it, and its
        register or constant.

        Nothing for a kernel's own.

        Args:
            source: the parameter.
            at: caller and index of the one call that counts; all without it.
        """
        target = self._module.ptx.function(source.function)
        if target is None or target.kind == "entry":
            return
        names = [name for name, _, _ in target.parameters]
        if source.name not in names:
            return
        position = names.index(source.name)
        for caller, call in self._module.calls_of(source.function, self._kernel):
            if at is not None and at != (caller, call.index):
                continue
            places = call.places[position] if position < len(call.passed) else {}
            if source.number in places:
                yield caller, call.index, places[source.number]

    def returned(self, source: ValueSource) -> Iterator[tuple[int, str]]:
        """Registers and constants of the callee that a result of its call may be, each with the
        index of the instruction that stores it.

        Args:
            source: the result; nothing where the callee is not known or not defined here.
        """
        code = self._module.dataflow(source.name) if source.name is not None else None
        names = {name for name, _, _ in code.function.results} if code is not None else set()
        for index, instruction in enumerate(code.body.instructions if code is not None else ()):
            address = instruction.address
            if instruction.modifiers[:2] != ("st", "param") or address is None:
                continue
            for value, place in stored_values(instruction) if address.base in names else ():
                if address.offset + place == source.number:
                    yield index, value

    def _leaf(
        self, function: str, code: Definitions, index: int, register: str
    ) -> Iterator[ValueSource]:
        instruction = code.body.instructions[index]
        if instruction.isa.kind in ("copy", "choice"):
            return
        source = loaded(code, index, register)
        number = self._compiled_in(instruction, register)
        if number is not None:
            source = ValueSource("constant", function, number=number)
        yield source if source is not None else ValueSource("computed", function, index=index)

    def _compiled_in(self, instruction: Instruction, register: str) -> int | None:
        """The number that is loaded from a constant which the compiler made of a literal.

        NVVM keeps a literal ``dim3(256)`` as a global variable with the name of the function that
        it stands in and a number. A program cannot name it, so that nobody writes to it; of the
        program's own variables, what they begin with may have been changed.
        """
        address = instruction.address
        if instruction.modifiers[:2] != ("ld", "global") or address is None:
            return None
        function, _, number = str(address.base).rpartition("$")
        if not number.isdecimal() or self._module.ptx.function(function) is None:
            return None
        data = self._module.ptx.initial_value(str(address.base))
        target = instruction.operands[0]
        lanes = len(target.items) if isinstance(target, Vector) else 1
        start = address.offset + position_in(instruction, register)
        if data is None or start < 0:
            return None
        size = access_width(instruction) // lanes
        # What an initialiser leaves out is 0.
        return int.from_bytes(data[start : start + size].ljust(size, b"\0"), "little")


def _copied(code: Definitions, register: str) -> list[str]:
    """What is copied to a register, unchanged but for its address space."""
    instructions = (code.body.instructions[one] for one in code.definitions.get(register, ()))
    given = (
        one.operands[position]
        for one in instructions
        if one.isa.kind in ("copy", "choice")
        for position in one.isa.pointers
    )
    return [one for one in given if isinstance(one, str)]
